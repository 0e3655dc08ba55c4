"""The settings that give the catalog to a Spark which our Python has not started.

For the spark-sql shell, the Thrift server, spark-submit, a platform's notebooks, and the server of
Spark Connect.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from arctic.errors import InvalidInputError
from arctic.job.reference import placed
from arctic.spark.base.sealed import sealed
from arctic.spark.jvm.extension import EXTENSION_CLASS, EXTENSIONS
from arctic.spark.jvm.install_catalog import CATALOG_CLASS
from arctic.spark.jvm.jar import make_jar

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def settings_of(name: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's settings for a catalog of this name.

    The jar goes on the class path of the driver alone: no executor needs a class of ours. What may
    be a secret has a name that Spark hides where it shows its settings.

    Args:
        name: of the catalog, as in ``SELECT * FROM name.shop.orders``.
        options: where its tables are; what depends on this process is written out.

    Raises:
        InvalidInputError: a name that is more than letters, digits and underscores, or a warehouse
            that the embedded catalog cannot live in.
        StorageError: there is no Java to make the jar with.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"catalog {name!r}: expected letters, digits and underscores, such as 'arctic'"
        )
    catalog = f"spark.sql.catalog.{name}"
    place = sealed(placed(options))  # Before the jar, which a wrong place is not worth.
    return {
        "spark.driver.extraClassPath": str(make_jar()),
        "spark.pyspark.python": sys.executable,
        EXTENSIONS: EXTENSION_CLASS,
        catalog: CATALOG_CLASS,
        **{f"{catalog}.{option}": text for option, text in place.items()},
    }
