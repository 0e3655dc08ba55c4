"""The classes of this package in Spark's own process.

Rules:
    - They are loaded by the class loader that a session names classes by, so that Spark finds the
      catalog by its name, in every thread and in each ``newSession()``. Where that one takes no
      more jars, a loader of ours has them, and no catalog can be named.
"""

from __future__ import annotations

import logging
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from arctic.spark.jvm.jar import jar_of

_KNOWN_BY = "arctic.spark.Protocol"

_log = logging.getLogger(__name__)


def compiled(jvm: Any) -> Any:
    """Return the class loader that has our classes.

    Raises:
        Py4JError: this Spark is another one than they are written for.
    """
    loader: Any = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    jar = jar_of(jvm)
    place = jvm.java.io.File(str(jar)).toURI().toURL()
    loaded = _loaded(loader)
    if loaded is not None:
        where = loaded.getProtectionDomain().getCodeSource().getLocation().toString()
        if not where.endswith(jar.name):
            _log.warning("Spark has the classes of another Arctic, of %s; start it anew", where)
        return loader
    try:
        loader.addURL(place)
    except Py4JError as error:
        _log.info("no catalog can be named, the class loader takes no jar: %s", error)
        urls = jvm.java.lang.reflect.Array.newInstance(place.getClass(), 1)
        jvm.java.lang.reflect.Array.set(urls, 0, place)
        return jvm.java.net.URLClassLoader.newInstance(urls, loader)
    return loader


def takes_names(jvm: Any) -> bool:
    """Say whether Spark finds our classes by their names."""
    return named_classes(jvm) is not None


def named_classes(jvm: Any) -> Any | None:
    """Return the class loader that has our classes already; None: Spark finds none of them."""
    loader: Any = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return None if _loaded(loader) is None else loader


def _loaded(loader: Any) -> Any | None:
    try:
        return loader.loadClass(_KNOWN_BY)
    except Py4JError:
        return None
