"""Logs as JSON lines on standard error; they name positions and fields, no values."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime

import orjson

TRACE_ID = "trace_id"
"""Attribute of a log record: the trace of the Kafka record that it is about, if any."""


class JsonLines(logging.Formatter):
    """Formats a log record as a JSON object.

    It has time, level, logger, process and message; and the id of a trace, if there is
    one.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; of an exception only the class, files and lines."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "at": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.processName,
            "message": record.getMessage(),
        }
        trace_id = getattr(record, TRACE_ID, "")
        if trace_id:
            line[TRACE_ID] = trace_id
        if record.exc_info and record.exc_info[0] is not None:
            # The text of a foreign exception may hold a value.
            line["exception"] = record.exc_info[0].__name__
            line["places"] = ", ".join(_places(record))
        return orjson.dumps(line).decode()


def set_up_logging(level: str) -> None:
    """Send the records of all loggers from ``level`` on to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _places(record: logging.LogRecord) -> list[str]:
    places = []
    trace = record.exc_info[2] if record.exc_info else None
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return places
