"""Spark that reads Iceberg: its runtime jar is fetched once, by version and SHA-256.

A test that needs it is skipped where it can't be fetched, or where pyspark is missing.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jgo.maven import MavenContext

from streams.cluster.local_broker.runtime import _locked, java_binary
from tests.brokers import CACHE

# For the newest Spark that has one; reading needs no more.
GROUP, ARTIFACT = "org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13"
VERSION = "1.11.0"
SHA256 = "d6ea6c5d099288daeb7d5a92061bd3d7d8f296492632b42378e5f2f0e3066242"

SCRIPT = """
import json, sys
from pyspark.sql import SparkSession

jar, location, query = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.jars", jar)
    .config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "512m")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "1")
    .getOrCreate()
)
spark.read.format("iceberg").load(location).createOrReplaceTempView("rows")
rows = [list(row) for row in spark.sql(query).collect()]
print("ROWS " + json.dumps(rows, default=str))
spark.stop()
"""


def ask_spark(metadata_location, query):
    """Return the rows of a query on ``rows``, the table of a metadata file."""
    pytest.importorskip("pyspark")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(_jar()), metadata_location, query],
        env={**os.environ, "JAVA_HOME": str(Path(java_binary(None)).parents[1])},
        capture_output=True,
        text=True,
        timeout=240,
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("ROWS ")]
    assert found, done.stderr[-3000:]
    return [tuple(row) for row in json.loads(found[0].removeprefix("ROWS "))]


def _jar():
    with _locked(CACHE):
        try:
            context = MavenContext(repo_cache=CACHE, timeout=60)
            component = context.project(GROUP, ARTIFACT).at_version(VERSION)
            jar = Path(component.artifact().resolve())
        except Exception as error:  # jgo raises what its HTTP client raises
            pytest.skip(
                f"no Iceberg for Spark: {GROUP}:{ARTIFACT}:{VERSION} can't be fetched "
                f"from Maven Central ({type(error).__name__})"
            )
        if hashlib.sha256(jar.read_bytes()).hexdigest() != SHA256:
            jar.unlink()
            pytest.fail(f"{jar.name}: its SHA-256 differs: it was removed")
        return jar
