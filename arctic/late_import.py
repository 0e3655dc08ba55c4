"""Modules that are imported when something of them is first asked for.

Must not know: what is in them.
"""

from __future__ import annotations

import gc
from importlib import import_module
from types import ModuleType


def imported(name: str) -> ModuleType:
    """Import a module by its full name, and all that it imports.

    That is hundreds of modules with hundreds of thousands of objects, all of which stay. The
    collector of garbage would go through them each time that there are a quarter more, which is
    a tenth of the time of the first call of a process. So it waits, if it runs at all.

    Raises:
        ImportError: there is no such module, or something that it needs.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if collects:
            gc.enable()
