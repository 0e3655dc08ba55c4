"""Vectors that the format's Java implementation printed: the truth that no code of ours made."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.tree.keys import decimal_of

_FOLDER = Path(__file__).parent.parent / "vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class HashVector:
    """One key and its hash."""

    id: str
    types: list[str]
    values: list[Any]
    element_hashes: list[int]
    key_hash: int
    node_ids: dict[int, int]
    """By mask."""


def tree_vectors() -> dict[str, list[dict[str, Any]]]:
    """Return the nodes, and which lies within which."""
    loaded: dict[str, list[dict[str, Any]]] = json.loads((_FOLDER / "tree.json").read_text())
    return loaded


def hash_vectors() -> list[HashVector]:
    """Return every key; those of a type that Arctic refuses too."""
    return [_vector(raw) for raw in json.loads((_FOLDER / "key_hash.json").read_text())]


def hashable_vectors() -> list[HashVector]:
    """Return the keys that a table can have; a UUID is refused: engines hash it differently."""
    return [vector for vector in hash_vectors() if "uuid" not in vector.types]


def _vector(raw: dict[str, Any]) -> HashVector:
    return HashVector(
        id=f"{raw['id']} {raw['name']}",
        types=[field["type"] for field in raw["fields"]],
        values=[_internal(field["internal"], field["type"]) for field in raw["fields"]],
        element_hashes=[field["element_hash"] for field in raw["fields"]],
        key_hash=raw["pk_hash"],
        node_ids={int(mask): node_id for mask, node_id in raw["node_id"].items()},
    )


def _internal(text: Any, type_text: str) -> Any:
    if not isinstance(text, str) or type_text in ("string", "uuid"):
        return text
    label, _, content = text.partition(":")
    if label == "bytes":
        return bytes.fromhex(content)
    if label == "floatBits":
        return struct.unpack(">f", struct.pack(">I", int(content, 16)))[0]
    if label == "doubleBits":
        return struct.unpack(">d", struct.pack(">Q", int(content, 16)))[0]
    unscaled, scale = content.split(",scale:")
    return decimal_of(int(unscaled), int(scale))
