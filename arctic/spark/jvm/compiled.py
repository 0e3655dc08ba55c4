"""Java of this package, compiled in the driver by the compiler that Spark compiles queries with.

Rules:
    - The compiler (Janino) knows no generics and no lambdas, and takes one file at a time: each may
      use those before it. Each file has a class loader of its own, so what others use is public.
    - Executors never see these classes: what is sent to them is Spark's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any


def compiled(jvm: Any, names: Sequence[str]) -> Any:
    """Return the class loader of classes by the names of their files in ``sources``.

    Raises:
        Py4JError: this Spark is another one than they are written for.
    """
    sources = files("arctic.spark.jvm").joinpath("sources")
    classes: Any = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in names:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(classes)
        compiler.cook(sources.joinpath(f"{name}.java").read_text(encoding="utf-8"))
        classes = compiler.getClassLoader()
    return classes
