"""Marks of services in namespaces, some of which are not theirs to change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import ForbiddenError, NoSuchNamespaceError

import arctic
from arctic.errors import StorageError
from arctic.iceberg.commits.lease import Lease
from arctic.iceberg.commits.service_mark import mark_namespaces, serving_mark, unmark_namespaces
from tests.iceberg.stores import config_of

MARK = Lease(owner="service-1", until_ms=1_000)


def test_a_namespace_that_is_refused_or_dropped_keeps_no_other_from_its_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said at the end which was refused; a catalog that is away is asked no more."""
    config, schema = config_of(tmp_path), pa.schema([("id", pa.int64())])
    for name in ("a.t", "b.t", "c.t", "d.t"):
        arctic.create_table(name, schema, warehouse=str(tmp_path))
    asked, says = list[str](), {"a": NoSuchNamespaceError("a"), "b": ForbiddenError("not yours")}
    update = SqlCatalog.update_namespace_properties

    def refuse(self: SqlCatalog, namespace: tuple[str, ...], *rest: Any) -> Any:
        asked.append(namespace[0])
        if namespace[0] in says:
            raise says[namespace[0]]
        return update(self, namespace, *rest)

    monkeypatch.setattr(SqlCatalog, "update_namespace_properties", refuse)
    with pytest.raises(StorageError, match="change namespace 'b': ForbiddenError: not yours"):
        mark_namespaces(config, ["etl"], MARK)
    assert [serving_mark(config, name, "etl") for name in ("b.t", "c.t", "d.t")] == [
        None,
        MARK,
        MARK,
    ]

    says["c"] = OSError("no route to host")
    asked.clear()
    with pytest.raises(StorageError, match="no route to host"):
        unmark_namespaces(config, ["etl"], MARK.owner)
    assert asked == ["c"]
    del says["c"]
    unmark_namespaces(config, ["etl"], MARK.owner)
    assert serving_mark(config, "d.t", "etl") is None
