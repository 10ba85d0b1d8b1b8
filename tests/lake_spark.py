"""Spark that reads the Parquet files of a lake's table.

There is no Iceberg for Spark 4.3 yet: iceberg-spark-runtime-4.1_2.13 1.11.0 ends with
IncompatibleClassChangeError.  So Spark is told the files of the current snapshot, which
is all there is to it: the tables have no files of deletes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

import pytest

SCRIPT = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession
from streams.products.rescrub.spark_java import use_own_java

query, folder, *files = sys.argv[1:]
use_own_java(Path(folder))
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "512m")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "1")
    .getOrCreate()
)
spark.read.parquet(*files).createOrReplaceTempView("rows")
rows = [list(row) for row in spark.sql(query).collect()]
print("ROWS " + json.dumps(rows, default=str))
spark.stop()
"""


def ask_spark(table, query):
    """Return the rows of a query on ``rows``, the current snapshot of a table."""
    pytest.importorskip("pyspark")
    tasks = [*table.scan().plan_files()]
    assert not any(each.delete_files for each in tasks)
    files = [each.file.file_path for each in tasks]
    with tempfile.TemporaryDirectory() as java:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, query, java, *files],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=240,
        )
    found = [line for line in done.stdout.splitlines() if line.startswith("ROWS ")]
    assert found, done.stderr[:3000]
    return [tuple(row) for row in json.loads(found[0].removeprefix("ROWS "))]
