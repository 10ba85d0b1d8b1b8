"""Ask the lake of parquet_lake.py: notes by type, what was removed, dead letters.

    python duckdb_query.py LAKE

Needs duckdb alone; the questions stand in duckdb_query.sql.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb

QUESTIONS = Path(__file__).with_suffix(".sql").read_text("utf-8").split(";\n")


def answers(lake: str) -> Iterator[duckdb.DuckDBPyRelation]:
    """Yield a table for each question."""
    os.chdir(lake)
    for question in filter(str.strip, QUESTIONS):
        yield duckdb.sql(question)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python duckdb_query.py LAKE")
    for answer in answers(sys.argv[1]):
        answer.show()
