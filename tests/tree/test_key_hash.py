from __future__ import annotations

from decimal import Decimal

import pytest

from arctic.errors import InvalidInputError
from arctic.tree.key_hash import HASHABLE, check_key_type, element_hash, hash_key
from arctic.tree.node import TreeNode
from tests.tree.vectors import HashVector, hash_vectors, hashable_vectors

VECTORS = hashable_vectors()
UUID_VECTORS = [vector for vector in hash_vectors() if "uuid" in vector.types]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)
def test_a_key_hashes_as_in_java(vector: HashVector) -> None:
    """Each column's hash, the key's hash and its node under every mask are Java's."""
    pairs = zip(vector.values, vector.types, strict=True)
    key_hash = hash_key(vector.values, vector.types)

    assert vector.element_hashes == [element_hash(value, type_text) for value, type_text in pairs]
    assert vector.key_hash == key_hash
    assert vector.node_ids == {
        mask: TreeNode(mask, key_hash & mask).node_id for mask in vector.node_ids
    }


@pytest.mark.parametrize("vector", UUID_VECTORS, ids=lambda vector: vector.id)
def test_a_uuid_is_refused(vector: HashVector) -> None:
    """Java hashes uuids in one engine and their bytes in another, so no hash is right."""
    with pytest.raises(InvalidInputError, match="'uuid' cannot be part of a primary key"):
        hash_key(vector.values, vector.types)


def test_there_are_vectors_of_every_type() -> None:
    """No type is checked against our own code alone."""
    names = {type_text.split("(")[0].split("[")[0] for v in VECTORS for type_text in v.types}

    assert set(HASHABLE) == names


@pytest.mark.parametrize(
    "type_text", ["uuid", "list<int>", "struct<1: a: optional int>", "map<int, int>", "unknown"]
)
def test_a_type_without_a_common_hash_is_refused(type_text: str) -> None:
    """The message names the column, the type and what would do."""
    with pytest.raises(InvalidInputError, match=r"'id'.*expected one of boolean, int, long"):
        check_key_type(type_text, "id")


@pytest.mark.parametrize("type_text", ["int", "decimal(10, 2)", "fixed[4]", "timestamptz"])
def test_a_type_with_a_common_hash_is_accepted(type_text: str) -> None:
    """Parameters play no part."""
    check_key_type(type_text, "id")


def test_a_decimal_is_brought_to_the_scale_of_its_column() -> None:
    """The scale is part of the hash, and it is the column's: 1.5 in decimal(10, 2) is 1.50."""
    expected = hash_key([Decimal("1.50")], ["decimal(10, 2)"])

    assert expected == hash_key([Decimal("1.5")], ["decimal(10, 2)"])
    assert expected == hash_key([Decimal("15E-1")], ["decimal(10, 2)"])
    assert expected != hash_key([Decimal("1.5")], ["decimal(10, 1)"])


@pytest.mark.parametrize("value", [Decimal("1.505"), Decimal("NaN")])
def test_a_decimal_that_its_column_cannot_hold_is_refused(value: Decimal) -> None:
    """Rounding would hash another key."""
    with pytest.raises(InvalidInputError, match="at most 2 decimal places"):
        hash_key([value], ["decimal(10, 2)"])


def test_a_decimal_type_needs_its_scale() -> None:
    """A decimal without parameters is no Iceberg type."""
    with pytest.raises(InvalidInputError, match=r"expected decimal\(precision, scale\)"):
        hash_key([Decimal(1)], ["decimal"])


def test_a_key_without_columns_is_refused() -> None:
    """An unkeyed table has no hash."""
    with pytest.raises(InvalidInputError, match="at least one key column"):
        hash_key([], [])
