"""Why Arctic is behind where it is: what profiles of it showed. Written by hand, shown on the page.

No line begins as one of a list: those of its section are the losses.
"""

REASONS = """**Who does less at that moment.** `iceberg-eq` writes two files and commits, without a
job of Spark's; until the table is compacted each read of all rows takes three times Arctic's time
for it, one of a key 29 times. `iceberg-cow` has nothing to merge, for each upsert rewrites most of
the table, in 29 times Arctic's time. `delta-rs` has nothing to compact, for the same reason.

**Other engines.** DuckDB sums DuckLake's rows where it decodes them; all others hand Arrow batches
over, and pyarrow sums them. Of Arctic's first use without Spark most is importing PyIceberg, its
SQL catalog and pyarrow. Of one column without Spark 0.08 of 0.19 s of processor time is decoding;
the rest is spread over some 160 batches, masks and hand-overs between threads.

**Joins of many tables through Spark.** A scan is planned in Python beside the JVM, 5 to 12 ms
later than one of Parquet by path, and a query of TPC-H has up to eight. Spark is told the bytes
of the values of all rows where these are more than the share of the files, so it broadcasts fewer
tables. The lines of an order lie in several nodes, for their key has two columns, so Spark's
partial sums by order (Q18) shrink less before they are shuffled. Iceberg runs on Spark 3.5, and
before any change it is ahead of plain Parquet on Spark 4.3, too.

**Over many commits.** Spark ends Python workers that have had nothing to do for a minute. Arctic
has others forked with all imported, so the upsert after a longer pause takes 0.25 s more; that
import, 1.2 s more than where each worker does its own, is in the load, the first work of Python's.
Arctic merges all that waits in each of four upkeeps, in 3.1 s; Paimon has none, for it compacts
within its upserts.

**Unmerged rows through Spark.** Spark's reader makes the places of rows, by which dead ones are
left out, of boxed numbers: a seventh of TPC-H's Q6 in a profile. Each file takes Spark milliseconds
to open; ten refreshes leave 40 small ones beside eight large ones, a fifth of it.

**Loads of keys in no order.** Arctic sorts the rows by them, to tell by the bounds of a file which
deletes concern it; Iceberg and Delta write rows as they come.

Importing before Java has started brought nothing."""
