"""The exit statuses of the service's processes, as sysexits.h numbers them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from errno import EDQUOT, ENOSPC

from .errors import (
    BrokerUnreachable,
    ConfigError,
    InputError,
    OutputError,
    RegistryUnreachable,
    RetriableError,
    SlotTaken,
    StateInUse,
    StateUnusable,
    StreamError,
    TopicReplaced,
)

log = logging.getLogger(__name__)

EX_NOINPUT, EX_UNAVAILABLE, EX_SOFTWARE, EX_CANTCREAT = 66, 69, 70, 73
EX_OSERR, EX_IOERR, EX_TEMPFAIL, EX_CONFIG = 71, 74, 75, 78
NO_SPACE = (
    "no space is left on a file system that is written to: state_dir, the temporary "
    "folder or the output; make room (df -h), then start again: nothing is lost"
)


STATUSES: tuple[tuple[type[StreamError], int], ...] = (
    (ConfigError, EX_CONFIG),
    (BrokerUnreachable, EX_UNAVAILABLE),
    (RegistryUnreachable, EX_UNAVAILABLE),
    (InputError, EX_NOINPUT),
    (OutputError, EX_CANTCREAT),
    (StateInUse, EX_OSERR),
    (StateUnusable, EX_IOERR),
    (RetriableError, EX_TEMPFAIL),
    (SlotTaken, EX_TEMPFAIL),
    (TopicReplaced, EX_TEMPFAIL),
    (StreamError, EX_SOFTWARE),
)
"""The status by kind of error; the first that fits."""


def status_of(main: Callable[[], None]) -> int:
    """Run a service's process; return its exit status, and log why it is not 0."""
    try:
        main()
    except StreamError as error:
        is_refused = isinstance(error, ConfigError)
        begins = "refused to start" if is_refused else "stopped"
        log.critical("%s: %s", begins, message_of(error))
        return status_for(error)
    except Exception as error:
        if is_full(error):
            log.critical("stopped: %s", NO_SPACE)
            return EX_IOERR
        # The formatter shows the places of a bug, never the exception's text.
        log.critical("stopped by a bug", exc_info=True)
        return EX_SOFTWARE
    return 0


def status_for(error: StreamError) -> int:
    """Return the exit status of an error."""
    return next(status for kind, status in STATUSES if isinstance(error, kind))


def message_of(error: StreamError) -> str:
    """Return what went wrong, and the next step."""
    if isinstance(error, RetriableError):
        return f"{error}; see to the brokers (phistream doctor), then start again"
    return str(error)


def is_full(error: Exception) -> bool:
    """Return whether a file system is full, or a quota spent."""
    return isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT)
