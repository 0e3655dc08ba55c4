"""``python -m arctic.cli``: the ``arctic`` command where no script is installed."""

from __future__ import annotations

from arctic.cli.main import main

main()
