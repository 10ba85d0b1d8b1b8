"""Tables of notes: CSV and TSV, whose first row names the columns.

A map says what the columns are, as it does for the fields of JSON events.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

import orjson

from streams.engine.character_sets import UTF_8
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode

from .input_file import CHUNK_BYTES, MAX_RECORD_BYTES, InputFile

if TYPE_CHECKING:
    from streams.formats.json_map import JsonMap

DELIMITERS: Mapping[str, str] = {".csv": ",", ".tsv": "\t"}
"""By the suffix of a file: nothing in it tells a table from a text."""

csv.field_size_limit(MAX_RECORD_BYTES)


class Table:
    """A table that is read row by row.

    Args:
        source: The file; its suffix says what is between cells.
        codec: Of its bytes.

    Raises:
        InvalidRecord: It has no header, or a header with two columns of one name.
    """

    def __init__(self, source: InputFile, codec: str = UTF_8) -> None:
        self._source = source
        self._codec = codec
        self.mark = codecs.BOM_UTF8 if source.is_marked else b""
        """What the file begins with."""
        self._delimiter = DELIMITERS[source.path.suffix.lower()]
        self._line_end = "\n"
        self._rows = csv.reader(self._lines(), delimiter=self._delimiter, strict=True)
        self.columns: Sequence[str] = self._next() or ()
        named = [name for name in self.columns if name]
        if len(set(named)) != len(self.columns):
            raise _unreadable("its first row must give each column a name of its own")

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the line at which a row ends, and its cells.

        Raises:
            InvalidRecord: It is no table; the reason names the line.
        """
        while (row := self._next()) is not None:
            number = self._rows.line_num
            if row and len(row) != len(self.columns):
                raise _unreadable(
                    f"line {number}: {len(row)} cells, and the header has "
                    f"{len(self.columns)}"
                )
            if row:
                yield number, row

    def written(self, row: Sequence[str]) -> bytes:
        """Return a row as the table has them."""
        out = io.StringIO()
        writer = csv.writer(
            out, delimiter=self._delimiter, lineterminator=self._line_end
        )
        writer.writerow(row)
        return out.getvalue().encode(self._codec, "replace")

    def _next(self) -> list[str] | None:
        try:
            return next(self._rows, None)
        except (csv.Error, UnicodeDecodeError):
            where = f"line {self._rows.line_num + 1}"
            raise _unreadable(f"{where}: not in {self._codec}, or no table") from None

    def _lines(self) -> Iterator[str]:
        for number, line in enumerate(self._source.lines()):
            if number == 0 and line.endswith(b"\r\n"):
                self._line_end = "\r\n"
            yield line.decode(self._codec)


def codec_of_stream(stream: BinaryIO, charset: str) -> str:
    """Return UTF-8 if a file is, or has a byte order mark; else the given codec."""
    decoder = codecs.getincrementaldecoder(UTF_8)()
    head = stream.read(2)
    found = UTF_8
    if head not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        try:
            decoder.decode(head)
            while chunk := stream.read(CHUNK_BYTES):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            found = charset
    stream.seek(0)
    return found


def events_of(source: InputFile) -> Iterator[bytes]:
    """Yield the rows of a table in UTF-8 as JSON events, without empty cells."""
    table = Table(source)
    for _, row in table:
        yield orjson.dumps(_event(table.columns, row))


class MappedTable:
    """The columns of a table, as a map names them.

    Args:
        table: The table.
        json_map: Names its columns; in other letter case, too.

    Raises:
        InvalidRecord: It has a column that the map does not name.
    """

    def __init__(self, table: Table, json_map: JsonMap) -> None:
        named = json_map.columns
        self.names = [name if name in named else name.lower() for name in table.columns]
        for number, name in enumerate(self.names, start=1):
            if name not in named:
                raise _unreadable(
                    f"column {number} is not in the map; map it, or list it in ignored"
                )
        self.table = table
        self.json_map = json_map

    def event(self, row: Sequence[str]) -> dict[str, str]:
        """Return a row as an event, without empty cells.

        One without a text gets a stroke: it has a row all the same.
        """
        event = _event(self.names, row)
        texts = [*self.json_map.columns_of("text")]
        if not any(event.get(name) for name in texts):
            event[texts[0]] = "-"
        return event


def _event(names: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    cells = zip(names, row, strict=True)
    return {name: cell for name, cell in cells if cell.strip()}


def _unreadable(problem: str) -> InvalidRecord:
    return InvalidRecord(ReasonCode.SCHEMA, f"table: {problem}")
