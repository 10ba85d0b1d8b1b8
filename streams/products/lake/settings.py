"""The settings of the lake."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from streams.engine.settings import ProductSettings

LakeTopicName = Literal["notes.scrubbed", "hl7.scrubbed", "phi.audit"]


class LakeSettings(ProductSettings):
    """The table [lake]: the tables of `phistream lake`."""

    TABLE = "lake"

    topics: tuple[LakeTopicName, ...] = Field(
        ("notes.scrubbed", "hl7.scrubbed", "phi.audit"),
        min_length=1,
        description="the topics that become tables",
    )
    catalog: str = Field(
        "phistream", pattern="^[a-z0-9_]+$", description="name of the catalog"
    )
    warehouse: str = Field(
        ".phistream/lake",
        min_length=1,
        description="folder or URL of the tables' files",
    )
    # They may hold credentials.
    properties: dict[str, str] = Field(
        default_factory=dict,
        repr=False,
        description="pyiceberg's properties of the catalog, e.g. type and uri; without "
        "any, SQLite in the warehouse's folder",
    )
    properties_file: Path | None = Field(
        None,
        description="a .toml file of further properties, readable by its owner alone",
    )
    namespace: str = Field(
        "phistream", pattern="^[a-z0-9_]+$", description="of the tables without times"
    )
    audit_namespace: str = Field(
        "phistream_audit", pattern="^[a-z0-9_]+$", description="of phi.audit's table"
    )
    partition_by: Literal["day", "month", "year"] = Field(
        "day", description="unit of the tables' partitions by day, when made"
    )
    commit_seconds: float = Field(
        30, gt=0, le=86_400, description="rows wait so long for a commit at most"
    )
    commit_rows: int = Field(
        50_000, ge=1, le=1_000_000, description="rows of a commit at most"
    )
    commit_bytes: int = Field(
        64 * 1024 * 1024, ge=1024, description="bytes of a commit; the last may exceed"
    )
    maintain_seconds: float = Field(
        600, gt=0, description="how often small files and old snapshots are looked for"
    )
    compact_files: int = Field(
        16, ge=0, description="small files of a partition that become one; 0: off"
    )
    small_bytes: int = Field(
        32 * 1024 * 1024, ge=1, description="a smaller file is small"
    )
    file_bytes: int = Field(
        128 * 1024 * 1024, ge=1024, description="files are rewritten up to this size"
    )
    keep_seconds: float = Field(
        86_400,
        ge=0,
        description="how long old snapshots, and with them erased rows, are kept",
    )
    orphan_seconds: float = Field(
        86_400,
        ge=60,
        description="files of no snapshot that are as old are deleted; longer than any "
        "commit may take",
    )
