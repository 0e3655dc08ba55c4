from __future__ import annotations

from arctic.iceberg.metadata.manifest_cache import ManifestCache


def test_the_least_used_manifests_go_first() -> None:
    """The weight is bounded, not the number of manifests."""
    cache = ManifestCache(max_bytes=50)
    for path in ("a", "b"):
        cache.put(int, path, (1, 2), entry_bytes=10)
    cache.get(int, "a")
    cache.put(int, "c", (1, 2), entry_bytes=10)
    cache.put(int, "huge", (1,) * 6, entry_bytes=10)

    assert [path for path in ("a", "b", "c", "huge") if cache.get(int, path)] == ["a", "c"]
    assert cache.weight == 40


def test_what_one_decoder_kept_is_not_what_the_other_asks_for() -> None:
    """Both share the room, and neither takes the entries of the other for its own."""
    cache = ManifestCache(max_bytes=100)
    cache.put(int, "a", (1,), entry_bytes=10)
    cache.put(str, "a", ("x", "y"), entry_bytes=5)

    assert (cache.get(int, "a"), cache.get(str, "a")) == ((1,), ("x", "y"))
    assert cache.weight == 20
