"""Parquet files that are being written, several at a time."""
