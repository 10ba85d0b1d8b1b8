"""`phistream scrub`: de-identify files and folders, without Kafka."""

from __future__ import annotations

import secrets
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from deid_core.document import Document, ScrubbedDocument
from deid_core.errors import DeidError
from deid_core.runtime.jit import is_machine_code_kept, run_uncompiled
from deid_core.term_files import TermFiles
from streams.engine.character_sets import UTF_8, known_codec
from streams.engine.errors import InvalidRecord
from streams.engine.extras import require
from streams.engine.keys.sources import read_key
from streams.engine.reasons import ReasonCode
from streams.formats import Format
from streams.pipeline.files.documents import documents_in

from .explain_text import counted
from .options import JsonMapFile
from .scrub_output import (
    Input,
    OutputFolder,
    StandardOutput,
    Write,
    inputs_of,
    opened,
    size_of,
)
from .terminal import say, show_table

if TYPE_CHECKING:
    from deid_core.pipeline import Deidentifier
    from streams.formats.json_map import JsonMap
    from streams.pipeline.files.rewriting import Rewriter, Tally

    from .explain import Explainer

BATCH = 256
LITTLE = 200_000
"""So many bytes are read uncompiled before kernels are compiled."""
HEADERS = (
    "Format",
    "Files",
    "Written",
    "Refused",
    "Texts",
    "Identifiers",
    "Fields dropped",
    "Unreadable",
)
NEEDED: Mapping[Format, tuple[str, ...]] = {
    Format.HTML: ("lxml",),
    Format.CCDA: ("lxml",),
    Format.FHIR: ("lxml",),  # its narratives are HTML
    Format.PDF: ("pypdf",),
}
"""Packages of the extra "documents", by format."""


def _codec(name: str) -> str:
    try:
        return known_codec(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


InputFormat = Literal["auto", "text", "hl7", "jsonl", "json"]


def scrub(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files of text, HL7 v2, JSON and documents, or folders of them; - for "
            "standard input.",
            allow_dash=True,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for one output file for each input, with the same name and in "
            "its own form; file names are not scrubbed.",
            file_okay=False,
        ),
    ] = None,
    format: Annotated[
        InputFormat,
        typer.Option("--format", help="Input format; auto uses the content."),
    ] = "auto",
    annotations: Annotated[
        bool,
        typer.Option(
            "--annotations",
            help="Add annotations with offsets of the input to JSON lines.",
        ),
    ] = False,
    json_map: JsonMapFile = None,
    charset: Annotated[
        str,
        typer.Option(
            callback=_codec,
            help="Character set of texts and HL7 messages that name none, and are not "
            "UTF-8: windows-1252.",
        ),
    ] = UTF_8,
    preset: Annotated[
        str, typer.Option(help="Detection preset: a name (phistream presets) or file.")
    ] = "hybrid",
    policy: Annotated[
        str, typer.Option(help="Replacement policy: a name or file.")
    ] = "safe-harbor",
    remove: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=FILE",
            help="Also remove the names or terms of a list: NAME:DOCTOR=staff.txt.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Keep the terms of a list where they are nothing else."
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(help="Secret key, for policies that need one; see phistream key."),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Show annotated notes and detectors instead.  Shows PHI!",
        ),
    ] = False,
    explain_html: Annotated[
        Path | None,
        typer.Option(help="Write that to an HTML page instead.  Contains PHI!"),
    ] = None,
) -> None:
    """De-identify files and folders; exit 1 if a note is refused.

    Formats are recognised by content.  With --out, each file is written back under
    its name in its own form: text, JSON, HL7 v2 with its batch envelopes, RTF, HTML;
    a PDF as text.  A file of which anything is refused is not written.

    Without --out, text goes to standard output as text; JSON notes and the notes of
    HL7 messages as JSON lines {"id", "text"}, which name their "file" if there are
    several inputs.

    JSON notes (lines, an array, or one object) are note events, as for phistream
    feed, or {"id", "text"[, "patient": demographics]
    [, "patient_id", "note_type"]}, or what --map says; see schemas/README.md.
    Surrogates are consistent for a patient if the note names one, and otherwise
    within a note.  Ids of note events become pseudonyms, of this run alone without
    --key-file.
    """
    if (annotations or out) and (explain or explain_html):
        raise typer.BadParameter(
            "--annotations and --out can't be combined with --explain"
        )
    given = None if format == "auto" else Format(format)
    mapped = _loaded(json_map) if json_map else None
    inputs = inputs_of(files, given, out, any_json=mapped is not None)
    require(*(name for each in inputs for name in NEEDED.get(each.kind, ())))
    folder = OutputFolder(out, inputs) if out is not None else None
    terms = _terms(remove or [], keep or [])
    key = read_key(key_file, "--key-file") if key_file else None
    if sum(map(size_of, inputs)) <= LITTLE and not is_machine_code_kept():
        run_uncompiled()
    deidentifier = _deidentifier(preset, policy, key, terms)
    with _progress(to_folder=out is not None) as tick:
        if explain or explain_html:
            names = (preset, policy)
            explainer = _explainer(deidentifier, explain, explain_html, names)
            refused = _explain(explainer, inputs, mapped, charset)
        elif folder is not None:
            rewriter = _rewriter(deidentifier, key, mapped, annotations, charset)
            done = [_rewritten(rewriter, each, folder, tick) for each in inputs]
        else:
            output = _standard_output(inputs, files, with_annotations=annotations)
            refused = sum(
                _scrub(
                    deidentifier,
                    each,
                    mapped,
                    output,
                    tick,
                    is_annotated=annotations,
                    charset=charset,
                )
                for each in inputs
            )
    if out is not None:
        refused = sum(each.is_refused for each in done)
        _show(done)
        say(f"{counted(len(inputs), 'file')} read; the output is in {out}")
    if explain_html:
        say(f"written: {explain_html}, which holds PHI")
    if refused:
        what = "file" if out is not None else "note"
        were = f"{what} was" if refused == 1 else f"{what}s were"
        say(f"{refused} {were} refused and not written")
        raise typer.Exit(1)


def _deidentifier(
    preset: str, policy: str, key: bytes | None, terms: TermFiles
) -> Deidentifier:
    # Not before it is known whether kernels are to be compiled.
    from deid_core.pipeline import Deidentifier

    return Deidentifier.from_names(preset=preset, policy=policy, key=key, terms=terms)


# Each of these imports what only some uses need.


def _loaded(json_map: Path) -> JsonMap:
    from streams.formats.json_map import load_json_map

    return load_json_map(json_map)


def _explainer(
    deidentifier: Deidentifier,
    terminal: bool,
    page: Path | None,
    names: tuple[str, str],
) -> Explainer:
    from .explain import Explainer

    return Explainer(deidentifier, terminal=terminal, page=page, names=names)


def _rewriter(
    deidentifier: Deidentifier,
    key: bytes | None,
    json_map: JsonMap | None,
    with_annotations: bool,
    charset: str,
) -> Rewriter:
    from streams.pipeline.files.rewriting import Rewriter
    from streams.pipeline.publish import Pseudonyms

    return Rewriter(
        deidentifier,
        # Without a key pseudonyms are of this run alone.
        Pseudonyms(key or secrets.token_bytes(32)),
        json_map,
        with_annotations=with_annotations,
        charset=charset,
    )


def _terms(removed: Iterable[str], kept: Iterable[str]) -> TermFiles:
    """Return the lists that the options name, as a preset's table would."""
    by_label: defaultdict[str, list[str]] = defaultdict(list)
    for each in removed:
        label, separator, file = each.partition("=")
        if not separator:
            raise typer.BadParameter("--remove is LABEL=FILE: NAME:DOCTOR=staff.txt")
        by_label[label].append(file)
    return TermFiles.read({"remove": by_label, "keep": [*kept]}, "lists")


def _standard_output(
    inputs: list[Input], given: list[Path], *, with_annotations: bool
) -> StandardOutput:
    several = len(given) > 1 or len(inputs) > 1 or any(each.is_dir() for each in given)
    return StandardOutput(with_names=several, with_annotations=with_annotations)


@dataclass(frozen=True, slots=True)
class _Done:
    """The outcome of one input."""

    kind: Format
    tally: Tally
    is_refused: bool


def _rewritten(
    rewriter: Rewriter,
    source: Input,
    folder: OutputFolder,
    tick: Callable[[Path, int], None],
) -> _Done:
    from streams.pipeline.files.rewriting import Tally

    tally = Tally()
    ticking = replace(rewriter, scrubbed=lambda texts: tick(source.path, texts))
    with opened(source.path) as stream:
        refused = folder.write(
            source,
            ticking.rewritten(
                source.path, stream, source.kind, tally, is_explicit=source.is_explicit
            ),
        )
    for each in refused:
        say(f"refused: {each}")
    return _Done(source.kind, tally, bool(refused))


def _show(done: Sequence[_Done]) -> None:
    """Print what became of the files, by format."""
    rows = []
    for kind in sorted({each.kind for each in done}):
        of_kind = [each for each in done if each.kind is kind]
        written = [each.tally for each in of_kind if not each.is_refused]
        counts = (
            len(of_kind),
            len(written),
            len(of_kind) - len(written),
            sum(each.texts for each in written),
            sum(each.identifiers for each in written),
            sum(each.removed.total() for each in written),
            sum(each.unreadable.total() for each in written),
        )
        rows.append((kind.value, *map(str, counts)))
    show_table(HEADERS, rows)


def _explain(
    explainer: Explainer,
    inputs: Iterable[Input],
    json_map: JsonMap | None,
    charset: str,
) -> int:
    refused = 0
    for each in inputs:
        with opened(each.path) as stream:
            documents = documents_in(
                each.path,
                stream,
                each.kind,
                is_explicit=each.is_explicit,
                json_map=json_map,
                charset=charset,
            )
            for reason in explainer.add(documents):
                refused += 1
                say(f"refused: {_named(each.path, reason)}")
    explainer.finish()
    return refused


def _scrub(
    deidentifier: Deidentifier,
    source: Input,
    json_map: JsonMap | None,
    output: StandardOutput,
    tick: Callable[[Path, int], None],
    *,
    is_annotated: bool,
    charset: str,
) -> int:
    with opened(source.path) as stream, output.of(source) as write:
        documents = documents_in(
            source.path,
            stream,
            source.kind,
            is_explicit=source.is_explicit,
            json_map=json_map,
            is_annotated=is_annotated,
            charset=charset,
        )
        return _scrub_all(deidentifier, source.path, documents, write, tick)


def _scrub_all(
    deidentifier: Deidentifier,
    path: Path,
    documents: Iterable[Document | InvalidRecord],
    write: Write,
    tick: Callable[[Path, int], None],
) -> int:
    refused = 0
    pending = iter(documents)
    while batch := list(islice(pending, BATCH)):
        good = [each for each in batch if isinstance(each, Document)]
        results = iter(deidentifier.deidentify_batch(good))
        for each in batch:
            result = next(results) if isinstance(each, Document) else each
            if isinstance(result, ScrubbedDocument):
                write(result)
            else:
                refused += 1
                say(f"refused: {_named(path, result)}")
        tick(path, len(batch))
    return refused


def _named(path: Path, error: DeidError | InvalidRecord | str) -> InvalidRecord:
    """Return why a note is refused, with the file."""
    if isinstance(error, InvalidRecord):
        return error  # names its place already
    # Here: only what is refused needs the readers of formats.
    from streams.pipeline.scrub.scrubbing import code_of

    code = code_of(error) if isinstance(error, DeidError) else ReasonCode.DEID_ERROR
    return InvalidRecord(code, f"{path}: {error}")


@contextmanager
def _progress(*, to_folder: bool) -> Iterator[Callable[[Path, int], None]]:
    """Show progress on a terminal, unless the notes are printed there."""
    if not sys.stderr.isatty() or (sys.stdout.isatty() and not to_folder):
        yield lambda _path, _done: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed:,} notes  {task.fields[file]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
    ) as shown:
        bar = shown.add_task("", total=None, file="")
        yield lambda path, done: shown.update(bar, advance=done, file=str(path))
