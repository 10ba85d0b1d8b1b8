"""Resources in which every element holds a marker of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

from tests.streams.formats.fhir.models import Element, elements_of
from tests.streams.formats.fhir.scrubbing import encoded

LETTERS = "bcdfghjklmnprstvwz"
DAR = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
UNKNOWN = {"Resource", "Extension"}
MOST_OF_A_TYPE = 2


def variants_of(type_: str) -> int:
    """Return how many variants of a resource there are."""
    choices = Counter(each.choice for each in elements_of(type_) if each.choice)
    return max(choices.values(), default=1)


class Markers:
    """Makes markers, and keeps them by the path where they are.

    Args:
        variant: Which element of each choice is there: `valueString`, `valueRange`...
    """

    def __init__(self, variant: int = 0) -> None:
        self._variant = variant
        self.by_path: dict[str, str] = {}
        self._numbers = count(1)

    def marker(self, path: str) -> str:
        """Return a new marker: a word that may be a family name."""
        number = next(self._numbers)
        letters = ""
        while number:
            number, digit = divmod(number, len(LETTERS))
            letters += LETTERS[digit]
        self.by_path[path] = f"Qua{letters}ux"
        return self.by_path[path]

    def resource(self, type_: str) -> dict[str, Any]:
        """Return a resource with markers in all of its elements."""
        return {"resourceType": type_, **self._elements(type_, type_, (type_,))}

    def _elements(self, model: str, path: str, above: tuple[str, ...]) -> Any:
        made: dict[str, Any] = {f"unknown{len(above)}": self.marker(f"{path}.unknown")}
        for element in self._chosen(elements_of(model)):
            where = f"{path}.{element.name}"
            if element.name == "contained":
                made["contained"] = [*map(self._contained, ("Patient", "Claim"))]
            elif element.is_complex and element.type not in UNKNOWN:
                if above.count(element.type) < MOST_OF_A_TYPE and len(above) < 8:
                    value = self._elements(element.type, where, (*above, element.type))
                    made[element.name] = [value, value] if element.is_list else value
            elif not element.is_complex:
                made |= self._primitive(element, where)
        made["extension"] = self._extensions(f"{path}.extension")
        made["modifierExtension"] = self._extensions(f"{path}.modifierExtension")
        if model == "Reference":
            made["reference"] = f"Patient/{self.marker(f'{path}.reference')}"
        if "data" in made and "contentType" in made:
            made["contentType"] = "text/plain"
            made["data"] = encoded(f"Seen with {self.marker(f'{path}.data')}.")
        return made

    def _chosen(self, elements: tuple[Element, ...]) -> list[Element]:
        choices: dict[str, list[Element]] = {}
        for each in elements:
            choices.setdefault(each.choice or each.name, []).append(each)
        return [each[self._variant % len(each)] for each in choices.values()]

    def _contained(self, type_: str) -> dict[str, Any]:
        name = {"family": self.marker(f"{type_}.name"), "text": self.marker(type_)}
        return {"resourceType": type_, "id": self.marker("id"), "name": [name]}

    def _extensions(self, path: str) -> list[dict[str, Any]]:
        return [
            {"url": self.marker(f"{path}.url"), "valueString": self.marker(path)},
            {"url": DAR, "valueCode": self.marker(f"{path}.code")},
            {"url": DAR, "valueString": self.marker(f"{path}.string")},
        ]

    def _primitive(self, element: Element, path: str) -> dict[str, Any]:
        make: Callable[[str], Any] = _MADE.get(element.type, Markers.marker).__get__(
            self
        )
        extras = {"id": self.marker(f"{path}.id")}
        extras["extension"] = self._extensions(f"{path}.extension")
        value: Any = make(path)
        if element.is_list:
            return {
                element.name: [value, make(path + "[1]"), None],
                f"_{element.name}": [None, extras, extras],
            }
        return {element.name: value, f"_{element.name}": extras}

    def _div(self, path: str) -> str:
        shown, hidden = self.marker(path), self.marker(f"{path}.attribute")
        comment = self.marker(f"{path}.comment")
        return (
            f'<div xmlns="http://www.w3.org/1999/xhtml" title="{hidden}">Seen with '
            f"{shown}.<!-- {comment} --><{hidden}>x</{hidden}></div>"
        )

    def _day(self, path: str) -> str:
        return f"19{50 + next(self._numbers) % 40}-02-03"

    def _moment(self, path: str) -> str:
        return f"{self._day(path)}T11:22:33Z"

    def _int(self, path: str) -> int:
        return 3

    def _decimal(self, path: str) -> float:
        return 2.5

    def _bool(self, path: str) -> bool:
        return True


_MADE: dict[str, Callable[..., Any]] = {
    "Date": Markers._day,
    "DateTime": Markers._moment,
    "Instant": Markers._moment,
    "Integer": Markers._int,
    "PositiveInt": Markers._int,
    "UnsignedInt": Markers._int,
    "int": Markers._int,
    "Decimal": Markers._decimal,
    "bool": Markers._bool,
    "Xhtml": Markers._div,
}
