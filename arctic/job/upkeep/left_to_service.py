"""Whether a service that runs looks after a table, so that its writers need not."""

from __future__ import annotations

import time

from arctic import options as opt
from arctic.errors import ArcticError
from arctic.iceberg.catalogs.catalog import open_catalog
from arctic.iceberg.commits.service_mark import serving_mark
from arctic.iceberg.tables.missing_table import existing_store
from arctic.iceberg.values.names import parse_identifier
from arctic.job.reference import TableReference


def is_left_to_service(reference: TableReference) -> bool:
    """Say whether a service of the table's group is alive, and the table is not kept from it.

    Where the catalog does not tell, there is none.
    """
    try:
        parts = parse_identifier(reference.identifier)
        properties = existing_store(open_catalog(reference.config), parts).properties
        if not opt.OPTIMIZE_ENABLED.value({}, properties):
            return False
        group = opt.OPTIMIZE_GROUP.value({}, properties)
        mark = serving_mark(reference.config, reference.identifier, group)
    except ArcticError:
        return False
    return mark is not None and mark.holds(time.time_ns() // 1_000_000)
