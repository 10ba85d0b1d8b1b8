"""The user's own lists: names and terms to remove, and terms to keep.

Lists are text files in UTF-8: one entry a line, ``#`` begins a line of comment.
Entries are compared word by word, as whole words, without accents; blanks between
words do not count.

**To remove.**  Each occurrence is proposed with the label that its file has in the
table.  An entry with a capital matches only text with a capital, so that "Young" does
not take "a young man"; an entry in small letters matches in any letter case, and in
notes of one letter case every entry does.

**To keep.**  A proposal of a name, place or profession that lies within an occurrence
of an entry, in any letter case, is dropped before propagation and `merge`.  Never
dropped: what the patient's record or a list to remove proposes, what has a digit, and
names that a rule finds, by a title, a label or a credential ("Dr. Foley").
A name that is also found outside of the entry ("Lucy" in "Ms. Lucy" and in "Lucy
House") is still propagated into it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from deid_core.document import PATIENT_RECORD, Annotation, Document, Span
from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.language.lexicons import normal
from deid_core.language.reading import readings_of

NAME = "terms"
"""Of the detector, and of the table in presets."""
SCORE = 0.98
"""Below an exact value of the patient's record, above all else."""

_LONGEST = 200
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")
_MARKS = str.maketrans("\u2018\u2019\u02bc\u2010\u2011\u2012\u2013", "'''----")
_KEEPABLE = frozenset(
    label
    for label in Label
    if label.main in {"NAME", "LOCATION", "PROFESSION"} and label != Label.USERNAME
)
_NEVER_DROPPED = frozenset({PATIENT_RECORD, NAME})
_RULES = "rules"


@dataclass(frozen=True, slots=True, repr=False)
class TermList:
    """The entries of files, looked up by their first words.

    Args:
        entries: In compared form, each with whether it matches only with a capital.
        sizes: By first word, the numbers of words that its entries have.
    """

    entries: Mapping[str, bool]
    sizes: Mapping[str, Sequence[int]]

    @classmethod
    def read(cls, files: Iterable[str]) -> TermList:
        """Return the list of all entries of files.

        Raises:
            ConfigError: A file cannot be read, is empty, or has a wrong line; the
                message names file and line, never the entry.
        """
        entries: dict[str, bool] = {}
        sizes: dict[str, set[int]] = {}
        for file in files:
            for entry in _entries(Path(file).expanduser()):
                forms = [_form(each) for each in _TOKEN.findall(entry)]
                key = " ".join(forms)
                entries[key] = _has_capital(entry) and entries.get(key, True)
                sizes.setdefault(forms[0], set()).add(len(forms))
        return cls(entries, {first: sorted(each) for first, each in sizes.items()})

    def find(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """Yield the range of each occurrence, and whether it needs a capital."""
        for word in _TOKEN.finditer(text):
            if sizes := self.sizes.get(_form(word[0])):
                yield from self._beginning_at(text, word.start(), sizes)

    def _beginning_at(
        self, text: str, start: int, sizes: Sequence[int]
    ) -> Iterator[tuple[int, int, bool]]:
        words = [*islice(_TOKEN.finditer(text, start), sizes[-1])]
        forms = [_form(each[0]) for each in words]
        for size in sizes:
            key = " ".join(forms[:size])
            if size <= len(words) and key in self.entries:
                yield start, words[size - 1].end(), self.entries[key]


class TermsDetector:
    """Propose the entries of the lists to remove.

    Args:
        files: By label.

    Raises:
        ConfigError: As `TermList.read` does.
    """

    name = NAME
    # Letter case counts as it was written.
    reads_as_written = True

    def __init__(self, files: Mapping[Label, Sequence[str]]) -> None:
        self._lists = {label: TermList.read(each) for label, each in files.items()}

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return the proposals for each document."""
        return [list(self._proposals(each)) for each in documents]

    def _proposals(self, document: Document) -> Iterator[Annotation]:
        text, is_any_case = document.text, document.is_in_one_case
        for label, terms in self._lists.items():
            for start, end, needs_capital in terms.find(text):
                written = text[start:end]
                is_entry = is_any_case or not needs_capital or _has_capital(written)
                if is_entry and _has_no_blank_line(written):
                    yield Annotation(Span(start, end), label, SCORE, NAME, "remove")


class KeptTerms:
    """Drop proposals that are only terms of the lists to keep.

    Args:
        files: The lists.

    Raises:
        ConfigError: As `TermList.read` does.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._list = TermList.read(files)

    def without_kept(
        self, document: Document, proposals: Sequence[Annotation]
    ) -> Sequence[Annotation]:
        """Return the proposals for a document that are more than a term to keep."""
        text = document.text
        if not any(_may_be_dropped(text, each) for each in proposals):
            return proposals
        starts, ends = self._occurrences(text)

        def is_kept(span: Span) -> bool:
            before = bisect_right(starts, span.start)
            return before > 0 and span.end <= ends[before - 1]

        return [
            each
            for each in proposals
            if not (is_kept(each.span) and _may_be_dropped(text, each))
        ]

    def _occurrences(self, text: str) -> tuple[list[int], list[int]]:
        """Return the occurrences that lie in no other, ordered; each in one line."""
        starts: list[int] = []
        ends: list[int] = []
        for start, end, _ in self._list.find(text):
            if len(text[start:end].splitlines()) > 1 or (ends and end <= ends[-1]):
                continue
            if starts and starts[-1] == start:
                ends[-1] = end
            else:
                starts.append(start)
                ends.append(end)
        return starts, ends


def _may_be_dropped(text: str, proposal: Annotation) -> bool:
    if proposal.detector in _NEVER_DROPPED or proposal.label not in _KEEPABLE:
        return False
    # A rule's title, label or credential says that the term is a person here.
    if proposal.detector == _RULES and proposal.label.main == "NAME":
        return False
    written = text[proposal.span.start : proposal.span.end]
    return not any(map(str.isnumeric, written))


def _entries(path: Path) -> Iterator[str]:
    where = f"terms: {path}"
    is_empty = True
    for number, line in enumerate(_text(path, where).split("\n"), start=1):
        entry = readings_of(line)[0].text.strip()
        if not entry or entry.startswith("#"):
            continue
        if sum(map(str.isalnum, entry)) < 2:
            problem = "an entry needs at least two letters or digits"
            raise ConfigError(f"{where}, line {number}: {problem}")
        if len(entry) > _LONGEST:
            problem = f"an entry has at most {_LONGEST} characters"
            raise ConfigError(f"{where}, line {number}: {problem}")
        is_empty = False
        yield entry
    if is_empty:
        raise ConfigError(f"{where}: has no entries; fill it, or do not name it")


def _text(path: Path, where: str) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise ConfigError(f"{where}: {problem}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    # Raised here, since the decoder's error holds the file's content.
    raise ConfigError(f"{where}, line {line}: not UTF-8; save the file as UTF-8")


def _form(word: str) -> str:
    return word.lower() if word.isascii() else normal(word).translate(_MARKS)


def _has_capital(text: str) -> bool:
    return any(map(str.isupper, text))


def _has_no_blank_line(text: str) -> bool:
    return all(map(str.strip, text.splitlines()))
