"""The exit statuses of the service's processes, as sysexits.h numbers them."""

from __future__ import annotations

import logging
from collections.abc import Callable

from .errors import (
    BrokerUnreachable,
    ConfigError,
    FatalError,
    StorageFull,
    StreamError,
)

log = logging.getLogger(__name__)

EX_NOINPUT, EX_UNAVAILABLE, EX_SOFTWARE, EX_CANTCREAT = 66, 69, 70, 73
EX_IOERR, EX_CONFIG = 74, 78


def status_of(main: Callable[[], None]) -> int:
    """Run a service's process; return its exit status, and log why it is not 0."""
    try:
        main()
    except ConfigError as error:
        log.critical("refused to start: %s", error)
        return EX_CONFIG
    except BrokerUnreachable as error:
        log.critical("%s", error)
        return EX_UNAVAILABLE
    except StorageFull as error:
        log.critical("stopped: %s", error)
        return EX_IOERR
    except (FatalError, StreamError) as error:
        log.critical("stopped: %s", error)
        return EX_SOFTWARE
    except Exception:
        # The formatter shows the places of a bug, never the exception's text.
        log.critical("stopped by a bug", exc_info=True)
        return EX_SOFTWARE
    return 0
