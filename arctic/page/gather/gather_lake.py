"""A row of the overview for each table of a catalog; one that is broken keeps nobody out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from arctic.errors import ArcticError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.snapshots.heads import catalog_heads, loads_of
from arctic.job.reference import Catalog, call_options, placed
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.job.upkeep.survey import Survey, partition_status, survey_table
from arctic.optimizing.planning.health import PartitionHealth
from arctic.optimizing.report import TableStatus
from arctic.optimizing.settings import OptimizeType
from arctic.page.facts.lake_facts import (
    IN_NO_SERVICE,
    BrokenTable,
    LakeFacts,
    StateFacts,
    TableRow,
)
from arctic.redact import without_secrets
from arctic.service.scheduling.outlook import Outlook, predict
from arctic.service.watching.wishes import Wishes


def gather_lake(
    names: Sequence[str] | None = None,
    *,
    threads: int = 10,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> LakeFacts:
    """Look at the tables of a catalog; nothing is changed.

    Args:
        names: the tables that are looked at; None: all.
        threads: that look at tables.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such warehouse.
        StorageError: the catalog cannot be reached.
    """
    place = placed(call_options(None, warehouse, catalog))
    config = CatalogConfig.from_options(place)
    broken: dict[str, str] = {}
    if names is None:
        heads = catalog_heads(config, loads=loads_of(threads=threads))
        names = [head.name for head in heads.tables]
        broken = {name: told(error) for name, error in heads.broken.items()}
    rows: list[TableRow] = []
    with ThreadPoolExecutor(threads) as pool:
        looks = pool.map(_looker(place), names)
        for name, found in zip(names, looks, strict=True):
            if isinstance(found, TableRow):
                rows.append(found)
            else:
                broken[name] = told(found)
    return LakeFacts(
        place=config.name or str(config.warehouse),
        at_ms=time.time_ns() // 1_000_000,
        tables=tuple(rows),
        broken=tuple(BrokenTable(name=name, why=why) for name, why in sorted(broken.items())),
    )


def told(error: Exception) -> str:
    """Return why a table is broken, in one line without secrets."""
    said = error.message if isinstance(error, ArcticError) else f"{type(error).__name__}: {error}"
    return without_secrets(" ".join(said.split()))


def _looker(place: Mapping[str, str]) -> Callable[[str], TableRow | Exception]:
    def look(name: str) -> TableRow | Exception:
        try:
            asked = AskedOptimize.of({**place, "path": name})
            return _table_row(survey_table(asked, None, for_writing=False))
        except Exception as error:  # noqa: BLE001 - a table must not keep the others from being shown
            return error

    return look


def _table_row(survey: Survey) -> TableRow:
    """Sum one table up."""
    statuses = tuple(partition_status(files, survey) for files in survey.partitions)
    status = TableStatus(table=survey.opened.table.name, partitions=statuses)
    wishes = Wishes.of(survey.opened.table.properties)
    outlook = predict(
        [(each.health, each.verdict) for each in statuses],
        open_file_cost_bytes=survey.settings.open_file_cost_bytes,
    )
    return summed_row(
        status.table,
        [each.health for each in statuses],
        outlook,
        score=status.score,
        due=status.due,
        reason=status.reason,
        group=wishes.group,
    )


def summed_row(
    name: str,
    partitions: Sequence[PartitionHealth],
    outlook: Outlook,
    *,
    score: int | None,
    due: OptimizeType | None,
    reason: str,
    group: str,
    state: StateFacts = IN_NO_SERVICE,
) -> TableRow:
    """Sum the partitions of a table up."""
    kinds = [(h.base, h.position_deletes, h.inserts, h.change_deletes) for h in partitions]
    return TableRow(
        name=name,
        score=score,
        due=None if due is None else due.value,
        reason=reason,
        files=sum(counts.files for each in kinds for counts in each),
        stored_bytes=sum(health.stored_bytes for health in partitions),
        unmerged_bytes=sum(health.unmerged_bytes for health in partitions),
        partitions=len(partitions),
        group=group,
        state=state,
        work_ms=outlook.work_ms if outlook.due is not None else 0,
    )
