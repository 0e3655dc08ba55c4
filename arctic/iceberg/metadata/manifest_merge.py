"""Which manifests a commit merges, so that many small commits do not slow planning down.

Strategy: tiers, as in a log-structured tree. With a minimum of 20, manifests of 1 to 19 files are
merged with each other once there are 20 of them, those of 20 to 399 likewise. So a file's entry is
rewritten a few times in its life; packing up to a target size, as Iceberg does, would rewrite one
large manifest with every twentieth commit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import TableProperties
from pyiceberg.utils.properties import property_as_bool, property_as_int

FILES_IN_A_MANIFEST = 1_000
"""From here on a manifest stays: a larger one makes each commit that removes a file slow."""


def group_for_merge(
    manifests: Sequence[ManifestFile], properties: Mapping[str, str], *, written_by: int
) -> list[tuple[ManifestFile, ...]]:
    """Divide manifests into those that stay alone and those that become one.

    Args:
        manifests: of the new snapshot; every one is in exactly one group.
        properties: ``commit.manifest-merge.enabled``, ``commit.manifest.min-count-to-merge``.
        written_by: the new snapshot; what it has just written is not written again.
    """
    least = _least_count(properties)
    tiers: dict[object, list[ManifestFile]] = defaultdict(list)
    for manifest in manifests:
        files = (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
        is_small = 0 < files < FILES_IN_A_MANIFEST
        if least is None or not is_small or manifest.added_snapshot_id == written_by:
            tiers[manifest.manifest_path].append(manifest)
        else:
            tier = (manifest.content, manifest.partition_spec_id, _level(files, least))
            tiers[tier].append(manifest)
    groups: list[tuple[ManifestFile, ...]] = []
    for members in tiers.values():
        if least is not None and len(members) >= least:
            groups.append(tuple(members))
        else:
            groups.extend((member,) for member in members)
    return groups


def _level(files: int, least: int) -> int:
    level = 0
    while files >= least:
        files //= least
        level += 1
    return level


def _least_count(properties: Mapping[str, str]) -> int | None:
    """Return how many manifests make a merge worth it; None when merging is off."""
    enabled = property_as_bool(
        dict(properties),
        TableProperties.MANIFEST_MERGE_ENABLED,
        TableProperties.MANIFEST_MERGE_ENABLED_DEFAULT,
    )
    least = property_as_int(
        dict(properties),
        TableProperties.MANIFEST_MIN_MERGE_COUNT,
        TableProperties.MANIFEST_MIN_MERGE_COUNT_DEFAULT,
    )
    return max(least or 0, 2) if enabled else None
