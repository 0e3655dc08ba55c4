"""Compacts a table by ``rewrite_data_files`` in Spark: prints a line of JSON; run by a benchmark.

``python -m benchmarks.engines.rewriter METADATA_FILE [SORT_ORDER TARGET_BYTES]`` commits beside the
catalog of the table, which stays as it was for everybody else.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from urllib.parse import urlparse

from benchmarks.engines.readers import spark_session


def main() -> None:
    """Rewrite every data file, and count the rows."""
    place = Path(urlparse(sys.argv[1]).path)
    # So Iceberg's catalog of folders knows a table.
    shutil.copy(place, place.with_name("v1.metadata.json"))
    place.with_name("version-hint.text").write_text("1")
    folder = place.parents[1]
    name = f"{folder.parent.name}.{folder.name}"
    session = spark_session(f"file://{folder.parents[1]}")
    session.range(1_000_000).selectExpr("sum(id)").collect()  # the executor is warm
    options = {"rewrite-all": "true", "remove-dangling-deletes": "true"}
    order = ""
    if sys.argv[2:]:
        order = f", strategy => 'sort', sort_order => '{sys.argv[2]}'"
        options["target-file-size-bytes"] = sys.argv[3]
    texts = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
    call = f"CALL lake.system.rewrite_data_files(table => '{name}', options => map({texts}){order})"
    began = time.monotonic()
    session.sql(call).collect()
    seconds = time.monotonic() - began
    found = {"seconds": seconds, "rows": session.table(f"lake.{name}").count()}
    version = place.with_name("version-hint.text").read_text().strip()
    print(json.dumps({**found, "metadata": str(place.with_name(f"v{version}.metadata.json"))}))


if __name__ == "__main__":
    main()
