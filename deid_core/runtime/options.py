"""The base of every table of options that a preset may set for a detector."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from deid_core.errors import ConfigError


class Options(BaseModel):
    """A detector's options: checked, typed, frozen; an unknown key is refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )

    @property
    def first_use_seconds(self) -> int:
        """About how long the first use trains a model; 0 if it trains none."""
        return 0

    @classmethod
    def read(cls, values: dict[str, Any], where: str) -> Self:
        """Return the options that a preset's table holds.

        Raises:
            ConfigError: A key is unknown or a value is wrong; names the key.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            steps = map(str, first["loc"])
            key = ".".join(step for step in steps if step != "[key]")
            if first["type"] == "extra_forbidden":
                known = ", ".join(cls.model_fields) or "none"
                problem = f"{where}: option {key!r} is unknown; known: {known}"
            else:
                problem = f"{where}.{key}: {first['msg']}"
            raise ConfigError(problem) from None


class NoOptions(Options):
    """For a detector that has none."""
