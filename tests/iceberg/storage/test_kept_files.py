"""Files of metadata that are kept in memory: few bytes, and only of stores that are far away."""

from __future__ import annotations

from uuid import UUID

import pytest

from arctic.iceberg.storage.kept_metadata import KeptFiles

HERE = (("s3.region", "x"),)


def name(number: int, form: str = "snap-1-0-{}.avro") -> str:
    """Return a name that no other file has."""
    return "s3://bucket/t/metadata/" + form.format(UUID(int=number))


def test_the_last_used_stay_and_no_more_bytes_than_may() -> None:
    """One that is large alone is not kept at all."""
    kept = KeptFiles(max_bytes=100)
    for number in range(4):
        kept.put(name(number), HERE, b"x" * 30)
        kept.get(name(0), HERE)
    kept.put(name(9), HERE, b"x" * 51)

    assert [number for number in range(10) if kept.get(name(number), HERE)] == [0, 2, 3]
    kept.put(name(2), HERE, b"y")
    assert kept.get(name(2), HERE) == b"y"
    assert kept.get(name(0), HERE) is not None


@pytest.mark.parametrize(
    "location",
    [
        "s3://bucket/t/metadata/version-hint.text",
        "s3://bucket/t/metadata/v3.metadata.json",
        name(1, "{}/manifest.avro"),
        name(1, "4-I-0-00001-0-{}.parquet"),
        name(1).replace("s3://", "file:///"),
        name(1).replace("s3://", "/"),
    ],
)
def test_what_may_change_or_is_near_is_not_kept(location: str) -> None:
    """A name without a random number of its own may be another file tomorrow."""
    kept = KeptFiles(max_bytes=100)
    kept.put(location, HERE, b"x")

    assert kept.get(location, HERE) is None


@pytest.mark.parametrize(
    "form", ["{}-m3.avro", "00007-{}.metadata.json", "7-{}.puffin", "7-{}.gz.metadata.json"]
)
def test_other_properties_reach_another_file(form: str) -> None:
    """Whoever may not read a file is not given it by somebody who may."""
    kept = KeptFiles(max_bytes=100)
    kept.put(name(1, form), HERE, b"x")

    assert kept.get(name(1, form), HERE) == b"x"
    assert kept.get(name(1, form), ()) is None
