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
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

from pyiceberg.catalog import Catalog

from arctic.redact import names_a_secret

_NAME = re.compile(r"(.*/\d+-)([0-9a-f-]{36})((?:\.gz)?\.metadata\.json)", re.DOTALL)
_HALF = 16


def signed(path: str, catalog: Catalog) -> str:
    """Return the name of a metadata file that is written for a commit through a catalog.

    Args:
        path: as PyIceberg would name it.
        catalog: what is committed through.
    """
    match, identity = _NAME.fullmatch(path), _identity(catalog)
    if match is None or identity is None:
        return path
    random = match.group(2).replace("-", "")[:_HALF]
    hashed = blake2b(f"{random} {identity}".encode(), digest_size=_HALF // 2).hexdigest()
    return f"{match.group(1)}{UUID(hex=random + hashed)}{match.group(3)}"


def is_signed(path: str, catalog: Catalog) -> bool:
    """Say whether a metadata file was written for a commit through this catalog."""
    is_known = _NAME.fullmatch(path) is not None and _identity(catalog) is not None
    return is_known and signed(path, catalog) == path


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
