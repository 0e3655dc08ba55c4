"""Names of metadata that tell which catalog a commit was for."""

from __future__ import annotations

from pathlib import Path

import pytest

from arctic.iceberg.catalogs.catalog import open_catalog
from arctic.iceberg.storage.signed_names import is_signed
from tests.iceberg.stores import config_of, make

POSTGRES = "postgresql+psycopg2://ann:pa55@host/lake?options=-csearch_path%3D"


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        (f"{POSTGRES}a", f"{POSTGRES}b", False),
        (f"{POSTGRES}a&password=x", f"{POSTGRES}a&password=y", True),
        (f"{POSTGRES}a", f"{POSTGRES.replace('pa55', 'new')}a", True),
        ("sqlite:////lake/a.db", "sqlite:////lake/../lake/a.db", True),
        ("", "", False),
    ],
)
def test_a_name_is_known_in_the_catalog_it_was_made_for(
    tmp_path: Path, first: str, second: str, is_same: bool
) -> None:
    """Also with another password; where nothing tells catalogs apart, it is known in none."""
    made = make(tmp_path, key=(), partition_by=())
    catalog = open_catalog(config_of(tmp_path))
    catalog.properties["uri"] = first
    staged = catalog._update_and_stage_table(  # type: ignore[attr-defined]
        made.base, made.base.name(), (), ()
    )

    catalog.properties["uri"] = second
    assert is_signed(staged.metadata_location, catalog) is is_same
