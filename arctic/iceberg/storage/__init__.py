"""Bytes of files, by path: opened in any process, written and read with their checksums."""
