"""What a catalog asks and is answered, as texts that come back as they were."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from arctic.spark.base.catalog_questions import CATALOG_QUESTIONS
from arctic.spark.base.protocol import QUESTIONS, question_text, read_question

ABOUT: dict[str, object] = {"catalog": {"warehouse": "/w"}, "name": ["shop", "orders"]}
NEW: dict[str, object] = {
    "schema": {"type": "struct", "fields": []},
    "partitions": [["bucket", "4", {"column": "id"}]],
    "properties": {"mine": "x"},
    "constraints": [{"text": "PRIMARY KEY (id)", "primary_key": ["id"]}],
    "stage": None,
}
CHANGES = [{"kind": "set_property", "name": "mine", "value": "x"}]
ASKED: dict[str, dict[str, object]] = {
    "tables": ABOUT,
    "table": {**ABOUT, "version": "5", "microseconds": None},
    "changelog": {
        **ABOUT,
        "start": "1",
        "start_inclusive": True,
        "end": 1_700_000_000_000_000,
        "end_inclusive": False,
        "is_net": True,
        "tells_updates": False,
    },
    "create_table": {**ABOUT, **NEW},
    "settle": {"staged": "c3RhZ2Vk", "keeps": False},
    "alter_table": {**ABOUT, "changes": CHANGES, "of_pipeline": False},
    "drop_table": {**ABOUT, "purge": True},
    "rename_table": {**ABOUT, "new_name": ["shop", "sales"]},
    "namespaces": ABOUT,
    "namespace": ABOUT,
    "create_namespace": {**ABOUT, "properties": {}},
    "alter_namespace": {**ABOUT, "changes": CHANGES},
    "drop_namespace": {**ABOUT, "cascade": False},
    "save": {
        "options": {"path": "shop.orders"},
        "replaces": None,
        "where": None,
        "pins": [],
        "is_statement": True,
    },
    "partitions": {"options": {"path": "shop.orders"}},
    "delete": {"options": {"path": "shop.orders"}, "where": [], "only_asks": True},
    "row_level": {
        "options": {"path": "shop.orders"},
        "command": "MERGE",
        "rows": "actions",
        "once": "target",
        "checks_inserts": True,
        "is_blind": False,
        "reads": "where",
        "where": [[">", {"column": "id"}, {"value": 5}]],
        "pins": ["cGlu"],
        "is_planned": True,
    },
    "procedures": ABOUT,
    "procedure": {**ABOUT, "name": ["system", "optimize"]},
    "call": {
        **ABOUT,
        "name": ["optimize"],
        "catalog_name": "arctic",
        "arguments": {"table": "shop.orders", "type": None},
    },
}


@pytest.mark.parametrize("ask", ASKED)
def test_a_question_comes_back_as_it_was_asked(ask: str) -> None:
    """With every field of its record, and with no other."""
    question = read_question(json.dumps({"ask": ask, **ASKED[ask]}))

    assert type(question) is QUESTIONS[ask]
    assert {field.name for field in fields(question)} == set(ASKED[ask])
    assert json.loads(question_text(question)) == {"ask": ask, **ASKED[ask]}
    with pytest.raises(TypeError):
        read_question(json.dumps({"ask": ask, **ASKED[ask], "more": 1}))


def test_every_question_of_a_catalog_is_known() -> None:
    """By one word each."""
    assert set(ASKED) <= set(CATALOG_QUESTIONS)
    assert CATALOG_QUESTIONS.items() <= QUESTIONS.items()
