"""Names of tables in a catalog of ours, as the builders of Spark are told them.

Spark's own way to such a table knows neither our modes nor what a stream of changes has for
columns. Here a name becomes the options that mean the same table.

Rules:
    - A name is resolved as Spark does it: its first part is a catalog if there is one of that name,
      else the current catalog is meant; one part alone is in the current namespace.

Must not know: tables.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from arctic.spark.base.private_names import is_classic, parsed_name
from arctic.spark.catalog.described import table_options
from arctic.spark.jvm.install_catalog import CATALOG_CLASS

_SETTING = "spark.sql.catalog."


def options_of_name(session: SparkSession, name: str) -> dict[str, str] | None:
    """Return the options that name a table of a catalog of ours; None: it is in another one.

    Raises:
        InvalidInputError: a catalog with a setting that nobody knows.
        NotFoundError: a name that no table can have.
    """
    if not is_classic(session):
        return None
    parts = parsed_name(session, name)
    catalog = session.catalog.currentCatalog()
    if len(parts) > 1 and session.conf.get(f"{_SETTING}{parts[0]}", None) is not None:
        catalog, parts = parts[0], parts[1:]
    if session.conf.get(f"{_SETTING}{catalog}", None) != CATALOG_CLASS:
        return None
    if len(parts) == 1 and catalog == session.catalog.currentCatalog():
        current = session.catalog.currentDatabase()  # quoted where SQL would have it so
        parts = [*(parsed_name(session, current) if current else ()), *parts]
    prefix = f"{_SETTING}{catalog}."
    settings = session.conf.getAll
    return table_options(
        {key[len(prefix) :]: value for key, value in settings.items() if key.startswith(prefix)},
        parts,
    )
