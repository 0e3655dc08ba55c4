"""The verbs a user calls, without Spark: tables, reads, writes and plans.

``arctic`` is their only address, here too. Every function takes ``warehouse=``, a folder with the
embedded SQLite catalog, or ``catalog=``, the name of a PyIceberg catalog or a mapping of its
properties.
"""
