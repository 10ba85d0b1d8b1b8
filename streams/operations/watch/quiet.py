"""Faust's and aiokafka's log lines, without the values that they would show.

Their arguments may be records, or exceptions that quote one: only numbers pass, of all
else the class is named.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

FOREIGN = ("faust", "mode", "aiokafka", "kafka", "aiohttp", "asyncio")


class WithoutValues(logging.Filter):
    """Replaces the arguments of foreign log records; lets every record pass."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True; the record's arguments are harmless afterwards."""
        if record.name.partition(".")[0] in FOREIGN:
            record.msg, record.args = _message(record), ()
        return True


def quieten(level: str) -> None:
    """Keep foreign loggers at warnings, and their values out of all handlers."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(WithoutValues())
    for name in FOREIGN:
        floor = logging.INFO if level == "debug" else logging.WARNING
        logging.getLogger(name).setLevel(floor)


def _message(record: logging.LogRecord) -> str:
    if not isinstance(record.msg, str):
        return type(record.msg).__name__
    given = record.args
    try:
        if isinstance(given, Mapping):
            return record.msg % {key: _Shown(value) for key, value in given.items()}
        return record.msg % tuple(map(_Shown, given or ()))
    except (TypeError, ValueError, KeyError):
        return "a line whose arguments do not fit"


class _Shown:
    """A value as it may be shown, whatever conversion the line asks for."""

    def __init__(self, value: object) -> None:
        self._value = value if isinstance(value, int | float) else None
        self._text = str(value) if self._value is not None else type(value).__name__

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __int__(self) -> int:
        return int(self._value or 0)

    def __float__(self) -> float:
        return float(self._value or 0)
