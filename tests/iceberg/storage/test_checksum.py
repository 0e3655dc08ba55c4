"""Checksums of table metadata: of files that go on from one another, of before, of damaged ones."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arctic.errors import FormatError
from arctic.iceberg.storage import checksum
from arctic.iceberg.storage.checksum import UNKNOWN, check, sealed

PATH = "s3://b/t/00001-x.metadata.json"


@given(
    files=st.lists(
        st.tuples(
            st.lists(st.sampled_from([b"a" * 8, b"b" * 8, b"c" * 9]), max_size=4),
            st.lists(st.binary(max_size=7), max_size=3),
        ),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=150, deadline=None)
def test_a_file_that_begins_like_others_has_its_own_checksum(
    files: list[tuple[list[bytes], list[bytes]]],
) -> None:
    """Whatever was remembered of them: it is that of the bytes, and of the name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checksum, "LONG_PART", 8)
        for long, short in files:
            content = b"".join(sealed(PATH, [b'{"s":[', *long, *short, b"]}"]))
            assert check(f"/elsewhere/{PATH.rpartition('/')[2]}", content)
            zeros = content.replace(content[30:62], UNKNOWN.encode(), 1)
            expected = hashlib.blake2b(zeros + b"00001-x.metadata.json", digest_size=16)
            assert content[:30] == b'{"arctic-checksum":"name-last:'
            assert content[30:62] == expected.hexdigest().encode()
            assert content[62:] == b'","s":[' + b"".join((*long, *short, b"]}"))


@pytest.mark.parametrize("is_old", [False, True])
def test_damage_anywhere_is_told(is_old: bool) -> None:
    """In files of before too, whose names were covered first."""
    content = b"".join(sealed(PATH, [b'{"format-version":2,', b"x" * 40, b"}"]))
    if is_old:
        before, after = b'{"arctic-checksum":"', content[62:]
        state = hashlib.blake2b(b"00001-x.metadata.json", digest_size=16)
        state.update(before + UNKNOWN.encode() + after)
        content = before + state.hexdigest().encode() + after
    assert check(PATH, content)
    with pytest.raises(FormatError, match="another file under this name"):
        check("s3://b/t/00002-x.metadata.json", content)
    for at in range(30, len(content)):
        damaged = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        try:
            assert not check(PATH, damaged)  # digits that are none any more make it no checksum
            assert at <= 62
        except FormatError:
            pass
