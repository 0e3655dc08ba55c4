"""Catalogs that are asked over Thrift: Hive's metastore, by sessions that threads do not share."""
