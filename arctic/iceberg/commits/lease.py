"""Leases of tables: who looks after one just now, so that no two services do the same work.

Rules:
    - A lease is a property of base, and expires. It keeps nobody from writing, and nothing is right
      or wrong by it: where two hold one, their commits decide, as those of any two writers.
    - Times are those of the holders' clocks. Clocks that differ by more than a lease cost work done
      twice, never rows. A lease further ahead than a day is of a clock that was wrong: nobody's.
    - An owner's name says which process of which machine it is. One that is there no more has none,
      as far as others at the same machine can see; elsewhere its lease has to expire.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from arctic.errors import ConflictError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.tables.missing_table import existing_store
from arctic.iceberg.tables.set_properties import commit_properties
from arctic.iceberg.values.names import parse_identifier
from arctic.retry import AT_ONCE
from arctic.table.property_names import CLEANED_TIME, LEASE

MOST_LEASE_MS = 24 * 3_600_000
_OWNER = re.compile(r".*-(?P<place>[0-9a-f]{12})-(?P<process>\d+)-(?P<began>\d+)-\w+")
_DEAD = frozenset("ZX")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who looks after a table, and until when."""

    owner: str
    """Without blanks."""
    until_ms: int

    def holds(self, now_ms: int) -> bool:
        """Say whether it counts at a time: not expired, not too far ahead, not of a dead owner."""
        return 0 < self.until_ms - now_ms <= MOST_LEASE_MS and not has_died(self.owner)

    def keeps_out(self, owner: str, now_ms: int) -> bool:
        """Say whether it counts at a time, and is another's."""
        return self.owner != owner and self.holds(now_ms)


def owner_name(process: int) -> str:
    """Return a new name of an owner: its machine, its process and when that began, a number."""
    host = re.sub(r"\s", "", socket.gethostname()) or "host"
    began, _ = _life(process)
    # Where the system does not tell, nobody can see that it has died.
    where = f"{process}" if began is None else f"{_place()}-{process}-{began}"
    return f"{host}-{where}-{uuid.uuid4().hex[:8]}"


def has_died(owner: str) -> bool:
    """Say whether an owner is seen to be there no more: only one at this machine can be."""
    match = _OWNER.fullmatch(owner)
    if match is None or match["place"] != _place():
        return False
    began, state = _life(int(match["process"]))
    return began != match["began"] or state in _DEAD


@functools.cache
def _place() -> str | None:
    """Return what two processes share that see each other's numbers; None: it is not told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        return None
    return hashlib.sha256(f"{boot}/{numbers}".encode()).hexdigest()[:12]


def _life(process: int) -> tuple[str | None, str]:
    """Return when a process began, by the system's count, and its state; None: there is none."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None, "X"
    # The name before may hold blanks and brackets.
    fields = text.rpartition(")")[2].split()
    return fields[19], fields[0]


def lease_of(properties: Mapping[str, str]) -> Lease | None:
    """Return the lease of a table, expired or not; None: there is none, or none that can be read.

    >>> lease_of({"arctic.lease": "1700000000000 host-17"})
    Lease(owner='host-17', until_ms=1700000000000)
    >>> lease_of({"arctic.lease": "for ever"}) is None
    True
    """
    return lease_in(properties.get(LEASE, ""))


def lease_in(text: str) -> Lease | None:
    """Return the lease that a text says; None: it says none."""
    until, _, owner = text.partition(" ")
    return Lease(owner=owner, until_ms=int(until)) if until.isdecimal() and owner else None


def cleaned_ms(properties: Mapping[str, str]) -> int | None:
    """Return when a service cleaned the table last, or looked what it would clean; None: never."""
    text = properties.get(CLEANED_TIME, "")
    return int(text) if text.isdecimal() else None


def take_lease(config: CatalogConfig, identifier: str, wanted: Lease, *, now_ms: int) -> Lease:
    """Take the lease of a table, or extend one's own, and return whose it is then.

    Args:
        config: the catalog.
        identifier: ``namespace.table``.
        wanted: the lease.
        now_ms: the time; a lease that has expired, or is too far ahead, is nobody's.

    Raises:
        NotFoundError: no such table.
        StorageError: the catalog cannot be reached.
    """
    found = _commit(config, identifier, _said(wanted), wanted, now_ms)
    return wanted if found is None else found


def extend_lease(config: CatalogConfig, identifier: str, wanted: Lease, *, now_ms: int) -> None:
    """Let one's own lease last longer; one that was given back or lost stays so.

    Raises:
        NotFoundError: no such table.
        StorageError: the catalog cannot be reached.
    """
    _commit(config, identifier, _said(wanted), wanted, now_ms, needs_own=True)


def end_lease(
    config: CatalogConfig, identifier: str, lease: Lease, *, now_ms: int, cleaned: bool
) -> None:
    """Give a lease back, unless another has taken it meanwhile.

    Args:
        config: the catalog.
        identifier: ``namespace.table``.
        lease: one's own.
        now_ms: the time.
        cleaned: note that the table was cleaned.

    Raises:
        NotFoundError: no such table.
        ConflictError: other commits won every try; the lease expires by itself.
        StorageError: the catalog cannot be reached.
    """
    wanted = {CLEANED_TIME: str(now_ms)} if cleaned else {}
    _commit(config, identifier, wanted, lease, now_ms, removed=(LEASE,))


def _commit(
    config: CatalogConfig,
    identifier: str,
    wanted: Mapping[str, str],
    own: Lease,
    now_ms: int,
    *,
    removed: tuple[str, ...] = (),
    needs_own: bool = False,
) -> Lease | None:
    """Change the properties of base; return who else has the lease, as it is left alone then."""
    catalog, parts = open_catalog(config), parse_identifier(identifier)

    def step() -> Lease | None:
        base = existing_store(catalog, parts)
        found = lease_of(base.properties)
        other = _other(found, own, now_ms)
        if other is not None or (needs_own and (found is None or found.owner != own.owner)):
            return other
        commit_properties(
            catalog,
            base,
            wanted,
            removed,
            expected={LEASE: base.properties.get(LEASE)},
            subject=f"table {identifier!r}",
        )
        return None

    # Who was faster has it now, or has given it back by now.
    return AT_ONCE.run(step, on=ConflictError)


def _said(lease: Lease) -> dict[str, str]:
    return {LEASE: f"{lease.until_ms} {lease.owner}"}


def _other(found: Lease | None, own: Lease, now_ms: int) -> Lease | None:
    return found if found is not None and found.keeps_out(own.owner, now_ms) else None
