"""Proposes a map for samples of JSON events: by the names and types of their fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from tomllib import loads
from typing import Any

import orjson
from rapidfuzz import fuzz, process

from streams.formats.json_map.mapping import LISTS, REQUIRED
from streams.formats.json_map.paths import ELEMENTS, Path, Steps

from .samples import ISO, SampledField, Samples

ALIKE = 88
"""Similarity, in percent, of a name that may be a known one."""
LONG = 80
"""Characters of a field that may be the text of a note."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SCALARS = (
    *("note_id", "note_type", "written_at", "text"),
    *("patient.id", "patient.assigning_authority", "demographics.sex"),
)


@dataclass(frozen=True, slots=True)
class Guess:
    """A guess at the property that a field may be.

    Args:
        steps: Its path.
        sampled: What the samples have there.
        property: Of a note event; `section` for a part of the text; or empty.
        doubts: Why a person must look; empty if the name says it.
    """

    steps: Steps
    sampled: SampledField
    property: str = ""
    doubts: tuple[str, ...] = ()

    def doubting(self, doubt: str) -> Guess:
        """Return the guess with one more doubt."""
        return Guess(self.steps, self.sampled, self.property, (*self.doubts, doubt))


@dataclass(slots=True)
class _Choice:
    """The choice of fields for properties."""

    scalars: dict[str, Guess] = field(default_factory=dict)
    sections: list[Guess] = field(default_factory=list)
    lists: dict[str, list[Guess]] = field(default_factory=dict)
    objects: dict[tuple[str, Steps, str], dict[str, Guess]] = field(
        default_factory=dict
    )
    blocked: list[Guess] = field(default_factory=list)


def proposal(samples: Samples) -> str:
    """Return a map in TOML, with comments on what must be looked at.

    It holds names of fields, and no value.
    """
    choice = _chosen([_guess(*each) for each in samples.fields.items()])
    lines = [
        f"# Proposed by phistream map from {samples.events} events: look at each line.",
        "# An event with a field that is neither mapped nor ignored is refused.",
        "",
        *_ignored(samples, choice.blocked),
        "",
        *_top(samples, choice),
        "",
        "[patient]",
        *_scalar(samples, choice, "patient.id"),
        *_scalar(samples, choice, "patient.assigning_authority"),
        *_demographics(samples, choice),
    ]
    return "\n".join(lines) + "\n"


def _ignored(samples: Samples, blocked: Sequence[Guess]) -> Iterator[str]:
    yield "ignored = ["
    if blocked or samples.unnamed:
        yield "  # blocked: map these fields, or take the first # away to ignore them"
    for each in blocked:
        path = _quoted(each.steps)
        yield f"  # {path},  # {_facts(samples, each)}"
    for steps, count in samples.unnamed.items():
        where = f"below {_quoted(steps)}" if steps else "at the top"
        yield f"  # {count} fields {where}: their names look like values"
    yield "]"


def _top(samples: Samples, choice: _Choice) -> Iterator[str]:
    for name in ("note_id", "note_type", "written_at"):
        yield from _scalar(samples, choice, name)
    if not choice.sections:
        yield from _scalar(samples, choice, "text")
        return
    yield "text = { joined = ["
    for each in choice.sections:
        heading = ""
        if each.property == "section":
            words = " ".join(_WORD.findall(_last(each.steps)))
            words = words if words.isupper() else words.capitalize()
            heading = f"heading = {_text(words)}, "
        comment = _comment(samples, each)
        yield f"  {{ {heading}path = {_quoted(each.steps)} }},  {comment}"
    yield "] }"


def _scalar(samples: Samples, choice: _Choice, name: str) -> Iterator[str]:
    key = name.rpartition(".")[2]
    guess = choice.scalars.get(name)
    if guess is not None:
        source, doubts = _source(guess)
        yield f"{key} = {source}  {_comment(samples, doubts)}"
    elif name in REQUIRED:
        yield f'# {key} = ""  # not found, and required'


def _demographics(samples: Samples, choice: _Choice) -> Iterator[str]:
    lines = [*_scalar(samples, choice, "demographics.sex")]
    for name, guesses in choice.lists.items():
        lines.append(f"{name} = [")
        for each in guesses:
            source, doubts = _source(each)
            lines.append(f"  {source},  {_comment(samples, doubts)}")
        lines.append("]")
    if lines:
        yield from ("", "[demographics]", *lines)
    for (name, _, _), found in choice.objects.items():
        yield from ("", f"[[demographics.{name}]]")
        for key, guess in found.items():
            if name == "ids":
                yield f"value = {_quoted(guess.steps)}  {_comment(samples, guess)}"
                yield f"type = {{ constant = {_text(key)} }}"
            else:
                yield f"{key} = {_quoted(guess.steps)}  {_comment(samples, guess)}"


def _source(guess: Guess) -> tuple[str, Guess]:
    """Return the source of a property, with the format of dates and times."""
    path = _quoted(guess.steps)
    if guess.property not in ("birth_dates", "written_at"):
        return path, guess
    is_day = guess.property == "birth_dates"
    fitting = guess.sampled.days if is_day else guess.sampled.moments
    if fitting is None or ISO in fitting:
        return path, guess
    if not fitting:
        return path, guess.doubting("no known format fits all values; add format")
    first, *others = sorted(fitting, key=_commonness)
    if others:
        guess = guess.doubting(f"or format {', '.join(map(_text, others[:3]))}")
    return f"{{ path = {path}, format = {_text(first)} }}", guess


def _commonness(format: str) -> tuple[bool, str]:
    # Month first, as in the United States.
    return "%m" not in format[:2], format


def _comment(samples: Samples, guess: Guess) -> str:
    doubts = f"unsure: {'; '.join(guess.doubts)}; " if guess.doubts else ""
    return f"# {doubts}{_facts(samples, guess)}"


def _facts(samples: Samples, guess: Guess) -> str:
    of = f"in {guess.sampled.events} of {samples.events}"
    return f"{guess.sampled.described}, {of}"


def _quoted(steps: Steps) -> str:
    return _text(str(Path(steps)))


def _text(text: str) -> str:
    """Return a text as TOML has it; JSON's escapes are among TOML's."""
    return orjson.dumps(text).decode()


def _chosen(guesses: Iterable[Guess]) -> _Choice:
    choice = _Choice()
    found = sorted(guesses, key=lambda each: (bool(each.doubts), len(each.steps)))
    for each in found:
        if not _takes(choice, each):
            choice.blocked.append(each)
    _choose_text(choice)
    choice.blocked.sort(key=lambda each: str(Path(each.steps)))
    return choice


def _takes(choice: _Choice, guess: Guess) -> bool:
    """Add a guess to the choice; return whether it has a place there."""
    name, _, key = guess.property.partition(".")
    is_listed = ELEMENTS in guess.steps
    if guess.property in ("text", "section"):
        choice.sections.append(guess)
    elif guess.property == "sex" or guess.property in _SCALARS:
        property_ = "demographics.sex" if guess.property == "sex" else guess.property
        if property_ in choice.scalars and property_ == "patient.id":
            return _takes(choice, Guess(guess.steps, guess.sampled, "ids.MR"))
        if is_listed or property_ in choice.scalars:
            return False
        choice.scalars[property_] = guess
    elif guess.property in LISTS:
        choice.lists.setdefault(guess.property, []).append(guess)
    elif key:
        table = choice.objects.setdefault((name, *_group(guess)), {})
        if key in table:
            return False
        table[key] = guess
    else:
        return False
    return True


def _choose_text(choice: _Choice) -> None:
    """Make one field the text; join several, and those of lists."""
    if not choice.sections:
        texts = [each for each in choice.blocked if each.sampled.longest >= LONG]
        if not texts:
            return
        longest = max(texts, key=lambda each: each.sampled.longest)
        choice.blocked.remove(longest)
        doubt = f"the only long text; named {_last(longest.steps)}"
        choice.sections.append(longest.doubting(doubt))
    choice.sections.sort(key=lambda each: each.property == "section")
    [first, *others] = choice.sections
    if not others and ELEMENTS not in first.steps:
        choice.scalars["text"] = first
        choice.sections = []


def _group(guess: Guess) -> tuple[Steps, str]:
    """Return what fields of one object have in common."""
    steps = guess.steps
    first_list = steps.index(ELEMENTS) + 1 if ELEMENTS in steps else len(steps) - 1
    role = " ".join(_roles_of(steps))
    if guess.property.startswith("ids."):
        role = str(Path(steps))
    return steps[:first_list], role


def _guess(steps: Steps, sampled: SampledField) -> Guess:
    """Return what a field is by its name, if its type allows that."""
    guess = Guess(steps, sampled)
    if sampled.types.keys() <= {"boolean", "empty"}:
        return guess
    property_, doubt = _property(steps)
    if property_ in ("text", "section") and "text" not in sampled.types:
        return guess
    found = Guess(steps, sampled, property_, (doubt,) if doubt else ())
    if "boolean" in sampled.types:
        return found.doubting("some values are booleans, which refuse an event")
    return found


def _property(steps: Steps) -> tuple[str, str]:
    """Return the property that a field's name means, and a doubt about it."""
    tables = _names()
    roles = _roles_of(steps)
    last, above = _core(_last(steps)), _core(_last(steps[: _at_last(steps)]))
    both = " ".join(filter(None, (above, last)))
    unclear = "" if roles else "the name does not say whose or what it is"
    role = roles[-1] if roles else "note"
    order = _ORDER.get(role, (role,))
    for each in order:
        for name in (both, last):
            found = tables[each].get(name, "")
            if found and _fits(found, role):
                return found, unclear if last in _GENERIC else ""
    if {last, " ".join(_words(_last(steps)))} & tables["sections"].keys():
        return "section", ""
    for each in order:
        near = process.extractOne(
            last, tables[each].keys(), scorer=fuzz.ratio, score_cutoff=ALIKE
        )
        if last and near and _fits(tables[each][near[0]], role):
            return tables[each][near[0]], f"its name is like {near[0]!r}"
    return "", ""


def _fits(property_: str, role: str) -> bool:
    """Return whether somebody of this role has a property: the kin's phone is kept."""
    is_contact = property_.startswith(("phones", "emails", "addresses", "kin"))
    return role != "kin" or is_contact


_ORDER = {"note": ("note", "patient"), "kin": ("kin", "patient")}
_GENERIC = frozenset(("id", "name", "number", "no", "key", "code", "type", "date"))


def _roles_of(steps: Steps) -> list[str]:
    """Return the roles that the words of a path name, the innermost last."""
    roles = _roles()
    words = (word for name in steps if name for word in _words(name))
    return [*dict.fromkeys(roles[word] for word in words if word in roles)]


def _core(name: str) -> str:
    """Return a name without the words that say whose it is."""
    left_out = _roles().keys() | set(_table()["filler"]["words"])
    return " ".join(word for word in _words(name) if word not in left_out)


def _words(name: str) -> list[str]:
    return [_singular(word.lower()) for word in _WORD.findall(name)]


def _singular(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    is_plural = len(word) > 3 and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if is_plural else word


def _at_last(steps: Steps) -> int:
    return max((n for n, each in enumerate(steps) if each), default=0)


def _last(steps: Steps) -> str:
    return next((each for each in reversed(steps) if each), "")


@cache
def _table() -> dict[str, Any]:
    text = (files(__package__) / "field_names.toml").read_text("utf-8")
    return loads(text)


@cache
def _roles() -> Mapping[str, str]:
    """Return the role that a word means."""
    return {word: role for role, words in _table()["roles"].items() for word in words}


@cache
def _names() -> Mapping[str, Mapping[str, str]]:
    """Return by role the property of each name."""
    tables = {
        role: {name: each for each, names in _table()[role].items() for name in names}
        for role in _table()["roles"]
    }
    return tables | {"sections": dict.fromkeys(_table()["sections"]["names"], "")}
