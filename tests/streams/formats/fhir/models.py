"""The elements of FHIR R4B as the package fhir.resources knows them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from fhir.resources.R4B import get_fhir_model_class

_TYPE = re.compile(r"abc\.(\w+?)Type\b")
_PRIMITIVE = re.compile(r", (?:<fhir_core\.types\.)?(\w+)[ (]")


@dataclass(frozen=True)
class Element:
    name: str
    type: str
    is_complex: bool
    is_list: bool
    is_mandatory: bool
    codes: tuple[str, ...]
    choice: str


@cache
def elements_of(model: str) -> tuple[Element, ...]:
    """Return the elements of a resource, a data type or a part of a resource."""
    found = []
    for field_name, field in get_fhir_model_class(model).model_fields.items():
        if field_name.endswith("__ext") or field_name == "fhir_comments":
            continue
        annotation, extra = str(field.annotation), field.json_schema_extra or {}
        complex_ = _TYPE.search(annotation)
        found.append(
            Element(
                name=field.alias or field_name,
                type=complex_[1] if complex_ else _primitive(annotation),
                is_complex=complex_ is not None,
                is_list="List[" in annotation,
                is_mandatory=bool(
                    extra.get("element_required")
                    or extra.get("one_of_many_required")
                    or field.is_required()
                ),
                codes=tuple(extra.get("enum_values", ())),
                choice=extra.get("one_of_many", ""),
            )
        )
    return tuple(found)


def _primitive(annotation: str) -> str:
    found = _PRIMITIVE.search(annotation)
    if found:
        return found[1]
    return next(
        each for each in ("bool", "Decimal", "int", "str") if each in annotation
    )
