"""MERGE: what cannot be, which Spark says before a row is read or when it meets the value."""

from __future__ import annotations

from tests.spark.catalog.row_level.case import Case, refusals

_MERGE = "MERGE INTO {t} t USING loose s ON t.id = s.c1 "
_UPDATE = _MERGE + "WHEN MATCHED THEN UPDATE SET "
_INSERT = _UPDATE + "t.s.c = s.c1 WHEN NOT MATCHED THEN INSERT "
_STRUCTS = (_UPDATE + "t.s = s.c2", _UPDATE + "t.s.n2 = s.c4")
_TEXT = _UPDATE + "t.s.n1 = s.c3"
_NULLS = (_UPDATE + "t.id = cast(NULL AS INT)", _UPDATE + "t.s.n1 = NULL")
_STRICT = {"storeAssignmentPolicy": "strict"}


def _anywhere(kind: str, error: str, condition: str) -> list[Case]:
    """Return a condition that is refused in each place where one may stand."""
    return refusals(
        kind,
        error,
        "deep",
        _MERGE + f"AND {condition} WHEN MATCHED THEN UPDATE SET t.s.c = -1",
        _MERGE + f"WHEN MATCHED AND {condition} THEN UPDATE SET t.s.c = -1",
        _MERGE + f"WHEN MATCHED AND {condition} THEN DELETE",
        _MERGE
        + f"WHEN NOT MATCHED AND {condition.replace('t.id', 's.c1')} "
        + "THEN INSERT (id, s) VALUES (1, null)",
    )


MERGES = [
    *refusals(
        "no such column",
        "UNRESOLVED_COLUMN",
        "deep",
        _UPDATE + "t.none = s.c1",
        _INSERT + "(id, none) VALUES (s.c1, null)",
    ),
    *refusals("no such field", "FIELD_NOT_FOUND", "deep", _UPDATE + "t.s.d.none = s.c1"),
    *refusals(
        "an insert of a field",
        "nested fields",
        "deep",
        _INSERT + "(id, s.d) VALUES (s.c1, null)",
    ),
    *refusals(
        "twice what it holds",
        "ssignments for",
        "deep",
        _INSERT + "(id, id) VALUES (s.c1, null)",
        _UPDATE + "t.id = 1, t.s.c = 2, t.id = 2",
        _UPDATE + "t.s.c = 1, t.id = 2, t.s.c = 2",
        _UPDATE + "t.s.c = 1, t.s = named_struct('c', 1, 'd', null)",
    ),
    *refusals(
        "an insert without a required column",
        "No assignment for 's'",
        "exact",
        _MERGE + "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.c1)",
    ),
    *refusals(
        "a field of what is no struct",
        "nested fields is only supported for StructType",
        "bags",
        _UPDATE + "t.a.x = s.c1",
        _UPDATE + "t.m.key = 'z'",
    ),
    *refusals("null where none may be", "NOT_NULL_ASSERT_VIOLATION", "exact", *_NULLS),
    *refusals("a struct without a field", "CANNOT_FIND_DATA", "exact", *_STRUCTS),
    *refusals("a text for a number", "CANNOT_SAFELY_CAST", "exact", _TEXT),
    *refusals(
        "strictly null",
        "CANNOT_SAFELY_CAST",
        "exact",
        _UPDATE + "t.id = NULL",
        _UPDATE + "t.s.n1 = NULL",
        **_STRICT,
    ),
    *refusals(
        "strictly a struct without a field", "CANNOT_FIND_DATA", "exact", *_STRUCTS, **_STRICT
    ),
    *refusals("strictly a text for a number", "CANNOT_SAFELY_CAST", "exact", _TEXT, **_STRICT),
    *_anywhere("at random", "NON_DETERMINISTIC", "rand() > t.id"),
    *_anywhere("an aggregate", "AGGREGATE", "max(t.id) = 1"),
    *_anywhere("a query", "SUBQUERY", "t.id IN (SELECT no FROM nos)"),
    Case(
        id="the table's column in an insert",
        sql="MERGE INTO {t} t USING ids s ON t.id = s.id "
        "WHEN NOT MATCHED AND n = 1 THEN INSERT (id) VALUES (s.id)",
        error="UNRESOLVED_COLUMN",
    ),
    Case(
        id="of a branch that is not there",
        sql="MERGE INTO {t}.branch_none t USING ids s ON t.id = s.id WHEN MATCHED THEN DELETE",
        error="a table with a primary key has no branches",
    ),
    Case(
        id="of a view",
        sql="MERGE INTO news t USING ids s ON t.id = s.id WHEN MATCHED THEN DELETE",
        error="MERGE INTO TABLE",
    ),
]
