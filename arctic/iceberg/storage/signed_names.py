"""Names of metadata files that tell through which catalog they were written.

A commit that died leaves metadata that looks as a commit of another catalog does, where the same
table is registered too. Half of the random part of a name is therefore a hash of the other half
and of the catalog: who looks from the same catalog knows that it was never committed there.

Rules:
    - Of a catalog that no URI tells from others, such as Glue's of one region or another, nothing
      is known: its names are as PyIceberg makes them.
"""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.table import StagedTable

from arctic.redact import names_a_secret

_NAME = re.compile(r"(.*/\d+-)([0-9a-f-]{36})((?:\.gz)?\.metadata\.json)", re.DOTALL)
_HALF = 16


def sign_metadata(catalog: Catalog) -> None:
    """Let the commits through this object name their metadata so."""
    if not isinstance(catalog, MetastoreCatalog) or _identity(catalog) is None:
        return
    stage = catalog._update_and_stage_table

    def staged(*arguments: Any, **named: Any) -> StagedTable:
        table = stage(*arguments, **named)
        table.metadata_location = _signed(table.metadata_location, catalog)
        return table

    catalog._update_and_stage_table = staged  # type: ignore[method-assign]


def is_signed(path: str, catalog: Catalog) -> bool:
    """Say whether a metadata file was written for a commit through this catalog."""
    is_known = _NAME.fullmatch(path) is not None and _identity(catalog) is not None
    return is_known and _signed(path, catalog) == path


def _signed(path: str, catalog: Catalog) -> str:
    match = _NAME.fullmatch(path)
    if match is None:
        return path
    random = match.group(2).replace("-", "")[:_HALF]
    told = f"{random} {_identity(catalog)}".encode()
    hashed = blake2b(told, digest_size=_HALF // 2).hexdigest()
    return f"{match.group(1)}{UUID(hex=random + hashed)}{match.group(3)}"


def _identity(catalog: Catalog) -> str | None:
    """Return what tells a catalog from others, the same in every process; without secrets."""
    uri = urlsplit(str(catalog.properties.get("uri", "")))
    if not uri.scheme:
        return None
    scheme = uri.scheme.partition("+")[0]
    place = os.path.realpath(uri.path[1:]) if scheme == "sqlite" else uri.path
    host = uri.netloc.rpartition("@")[2]
    told = sorted(each for each in parse_qsl(uri.query) if not names_a_secret(each[0]))
    return f"{catalog.name} {scheme} {host} {place} {urlencode(told)}".rstrip()
