"""The catalog ``arctic`` of a session: ``SELECT * FROM arctic.shop.orders``.

Rules:
    - A catalog of that name that a user has configured stays, whatever it is.
    - It is named in the configuration of the running context too, from which each ``newSession()``
      begins.
"""

from __future__ import annotations

import logging

from pyspark.sql import SparkSession

from arctic.spark.base.private_names import add_optimizer_rule, gateway, jvm, jvm_context
from arctic.spark.jvm.compiled import compiled, takes_names

CATALOG_CLASS = "arctic.spark.catalog.ArcticCatalog"
"""For ``spark.sql.catalog.<name>``, where the jar is one of ``spark.jars``."""
CATALOG_NAME = "arctic"
_RULES = ("arctic.spark.catalog.DynamicOverwrite", "arctic.spark.catalog.RewriteRowLevel")
"""What makes statements on tables of a catalog others that Spark hands over as frames."""

_log = logging.getLogger(__name__)


def install_catalog(session: SparkSession) -> bool:
    """Give a classic session, and those that are made of it, the catalog; again is harmless.

    Returns:
        Whether it can have one.
    """
    if not takes_names(jvm(session)):
        _log.warning("no catalog %r: the class loader of this Spark takes no jar", CATALOG_NAME)
        return False
    name_catalog(session)
    for rule in _RULES:
        found = compiled(jvm(session)).loadClass(f"{rule}$Install").getConstructors()[0]
        made = found.newInstance(gateway(session).new_array(jvm(session).java.lang.Object, 0))
        add_optimizer_rule(session, made)
    return True


def name_catalog(session: SparkSession) -> None:
    """Name the catalog in the settings of a classic session, unless they do already."""
    setting = f"spark.sql.catalog.{CATALOG_NAME}"
    if session.conf.get(setting, None) is None:
        session.conf.set(setting, CATALOG_CLASS)
        jvm_context(session.sparkContext).conf().set(setting, CATALOG_CLASS)
