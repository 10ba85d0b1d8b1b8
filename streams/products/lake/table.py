"""One table: made and extended by its schema, and written with the offsets.

A commit says on which snapshot it is based, and pyiceberg's own retries are off: a
retry would put the rows on top of what another writer has committed.  After a conflict
the table's offsets tell what happened: maintenance (they are as before: again, on the
new snapshot) or another writer (they have moved: this one stops).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchTableError,
    ValidationError,
)
from pyiceberg.expressions import In, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from streams.engine.errors import ConfigError, FatalError, RetriableError, SlotTaken

from .catalog import CONFLICTS, translated
from .columns import DAY
from .progress import Progress, progress_of
from .rows import PATIENT, RowMaker, Unit
from .settings import LakeSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

RETRIES = "commit.retry.num-retries"
UNIT = "phistream.partition-by"
MAX_CONFLICTS = 20
"""Commits of maintenance in a row, before one of rows gives up."""


class OtherWriter(SlotTaken):
    """Another process writes the same table."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The changes to be written at once.

    Args:
        rows: In the form that Arrow takes.
        erased: Patients whose earlier rows go.
        before: How far the table must have come.
        after: How far it has come then.
    """

    rows: Sequence[Mapping[str, Any]]
    erased: Collection[str]
    before: Progress
    after: Progress


class LakeTable:
    """A table of the lake.

    Args:
        catalog: Where it is.
        settings: Names and sizes.
        rows: Makes the rows of its topic.
    """

    def __init__(
        self, catalog: Catalog, settings: LakeSettings, rows: RowMaker
    ) -> None:
        self._catalog, self._settings = catalog, settings
        self.rows = rows
        is_timeless = rows.topic.timeless
        space = settings.namespace if is_timeless else settings.audit_namespace
        self.name = f"{space}.{rows.topic.name.replace('.', '_')}"
        self._table: Table | None = None

    @property
    def table(self) -> Table:
        """The table, as it was when it was last looked at."""
        if self._table is None:
            raise LookupError(self.name)
        return self._table

    @property
    def unit(self) -> Unit:
        """The unit of the partitions by day, as the table was made."""
        found = self.table.properties.get(UNIT, "")
        units: dict[str, Unit] = {"day": "day", "month": "month", "year": "year"}
        if found not in units:
            raise ConfigError(
                f"{self.name}: its property {UNIT} is not one of {', '.join(units)}; "
                "was the table made by another program?"
            )
        return units[found]

    def load(self) -> bool:
        """Load the table if it exists; return whether it does."""
        with translated(f"load {self.name}"):
            try:
                self._table = self._catalog.load_table(self.name)
            except NoSuchTableError:
                return False
        return True

    def open(self) -> None:
        """Load the table; make it, or add columns that it lacks.

        Raises:
            ConfigError: A column is of another type than the schema says.
            RetriableError: Catalog or files did not answer.
        """
        if not self.load():
            with translated(f"make {self.name}"):
                space, _, _name = self.name.rpartition(".")
                self._catalog.create_namespace_if_not_exists(space)
                # Another process may make it at the same time.
                self._table = self._catalog.create_table_if_not_exists(
                    self.name,
                    self.rows.columns(),
                    partition_spec=self._partitions(),
                    properties=self._table_properties(),
                )
        _ = self.unit
        self._evolve()
        self._turn_retries_off()

    def refresh(self) -> None:
        """Look at the table anew."""
        with translated(f"load {self.name}"):
            self.table.refresh()

    def progress(self) -> Progress:
        """Return how far the table has come, as it was last looked at."""
        topic = self.rows.topic.name
        table = self.table
        return progress_of(topic, table.current_snapshot(), table.snapshot_by_id)

    def commit(self, commit: Commit) -> None:
        """Write rows and offsets, or nothing.

        Raises:
            OtherWriter: The table has moved on.
            RetriableError: Catalog or files did not answer; rows and offsets may have
                been written, and the table says so.
        """
        may_be_made = False
        for _attempt in range(MAX_CONFLICTS):
            self.refresh()
            # First: it may move the table to what another writer has committed.
            self._turn_retries_off()
            found = self.progress()
            if found == commit.after and may_be_made:
                return
            if found != commit.before:
                raise OtherWriter(
                    f"{self.name}: another process has written to it; run one "
                    "phistream lake for each table"
                )
            try:
                with translated(f"commit to {self.name}"):
                    self._write(commit)
            except CONFLICTS as error:
                log.info("%s: %s; again", self.name, type(error).__name__)
                may_be_made = isinstance(error, CommitStateUnknownException)
            else:
                return
        raise RetriableError(f"lake: commit to {self.name}: too many conflicts")

    def arrow(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """Return rows in the table's columns."""
        schema = schema_to_pyarrow(self.table.schema())
        return pa.Table.from_pylist(list(rows), schema=schema)

    def _write(self, commit: Commit) -> None:
        summary = commit.after.summary()
        transaction = self.table.transaction()
        if commit.erased and self.table.current_snapshot() is not None:
            with _nothing_to_delete():
                patients = {literal(each) for each in commit.erased}
                # This snapshot has no row of the batch yet: a table that is rolled
                # back to it is written on from there.
                transaction.delete(
                    In(term=Reference(PATIENT), values=patients),
                    commit.before.summary(),
                )
        # Without rows it still makes the snapshot that has the offsets.
        transaction.append(self.arrow(commit.rows), summary)
        transaction.commit_transaction()

    def _partitions(self) -> PartitionSpec:
        columns = self.rows.columns()
        names = (DAY, self.rows.type_column)
        return PartitionSpec(
            *(
                PartitionField(
                    columns.find_field(name).field_id,
                    1000 + n,
                    IdentityTransform(),
                    name,
                )
                for n, name in enumerate(names)
            )
        )

    def _table_properties(self) -> dict[str, str]:
        # Bounds of a text would put its beginning into the metadata.
        unindexed = (f"write.metadata.metrics.column.{n}" for n in self.rows.unindexed)
        return {
            RETRIES: "0",
            UNIT: self._settings.partition_by,
            "write.parquet.compression-codec": "zstd",
            "write.target-file-size-bytes": str(self._settings.file_bytes),
            "write.metadata.delete-after-commit.enabled": "true",
            "write.metadata.previous-versions-max": "20",
            **dict.fromkeys(unindexed, "none"),
        }

    def _evolve(self) -> None:
        """Add the columns that the schemas have and the table lacks."""
        for _attempt in range(MAX_CONFLICTS):
            before = self.table.schema()
            try:
                with translated(f"add columns to {self.name}"):
                    try:
                        with self.table.update_schema() as update:
                            update.union_by_name(self.rows.columns())
                    except (ValidationError, ValueError, TypeError):
                        raise ConfigError(
                            f"{self.name}: a column is of another type than the schema "
                            "of its topic says; was the table made by another program?"
                        ) from None
            except CommitFailedException:
                self.refresh()
            else:
                new = set(self.table.schema().column_names) - set(before.column_names)
                if new:
                    log.info("%s: added columns %s", self.name, ", ".join(sorted(new)))
                return
        raise RetriableError(f"lake: add columns to {self.name}: too many conflicts")

    def _turn_retries_off(self) -> None:
        """Have pyiceberg never repeat a commit on another snapshot by itself."""
        for _attempt in range(MAX_CONFLICTS):
            if self.table.properties.get(RETRIES) == "0":
                return
            try:
                with (
                    translated(f"set properties of {self.name}"),
                    self.table.transaction() as transaction,
                ):
                    transaction.set_properties({RETRIES: "0"})
            except CommitFailedException:
                self.refresh()
        raise FatalError(f"{self.name}: {RETRIES} can't be set to 0")


def with_offsets(
    progress: Progress, topic_id: str, offsets: Mapping[int, int]
) -> Progress:
    """Return how far a table has come after records up to these offsets."""
    merged = {**progress.offsets, **offsets}
    return replace(progress, topic_id=topic_id, offsets=merged)


@contextmanager
def _nothing_to_delete() -> Iterator[None]:
    """Let pyiceberg find no row to delete without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Delete operation did not match")
        yield
