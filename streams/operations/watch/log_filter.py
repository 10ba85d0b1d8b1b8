"""Log lines of Faust and aiokafka without the values that they would show.

Their arguments may be records, or exceptions that quote one.  Numbers are kept;
anything else is replaced by its class.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

FOREIGN = ("faust", "mode", "aiokafka", "kafka", "aiohttp", "asyncio")


class ValueFilter(logging.Filter):
    """Replace the arguments of foreign log records; let every record pass."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True; the record's arguments hold no values afterwards."""
        if record.name.partition(".")[0] in FOREIGN:
            record.msg, record.args = _message(record), ()
        return True


def filter_foreign_logs(level: str) -> None:
    """Limit foreign loggers to warnings, and keep their values out of all handlers."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(ValueFilter())
    for name in FOREIGN:
        floor = logging.INFO if level == "debug" else logging.WARNING
        logging.getLogger(name).setLevel(floor)


def _message(record: logging.LogRecord) -> str:
    if not isinstance(record.msg, str):
        return type(record.msg).__name__
    args = record.args
    try:
        if isinstance(args, Mapping):
            return record.msg % {key: _Shown(value) for key, value in args.items()}
        return record.msg % tuple(map(_Shown, args or ()))
    except (TypeError, ValueError, KeyError):
        return "a line whose arguments do not fit"


class _Shown:
    """A value as it may be shown, for any conversion of the format string."""

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
