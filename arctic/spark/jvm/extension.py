"""Sessions that have our rules by configuration: ``Extensions.java``.

Must not know: what the rules do.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from arctic.spark.base.private_names import is_classic

EXTENSION_CLASS = "arctic.spark.Extensions"
"""For ``spark.sql.extensions``, where the jar is on the class path of the driver."""
EXTENSIONS = "spark.sql.extensions"
CONF = "spark.arctic.ownScans"
"""Set to true once a session has our rules; a user who sets it to false before is left alone."""


def has_extension(session: SparkSession) -> bool:
    """Say whether a session, classic or Connect, has our rules by configuration."""
    if session.conf.get(CONF, None) == "false":
        return False
    configured = (session.conf.get(EXTENSIONS, None) or "").split(",")
    return EXTENSION_CLASS in (name.strip() for name in configured)


def saves_on_server(session: SparkSession) -> bool:
    """Say whether a server of Spark Connect carries out a whole save in our format.

    Its Python then opens the catalog, spreads the rows and commits; the client needs neither the
    catalog nor the files.
    """
    return not is_classic(session) and has_extension(session)
