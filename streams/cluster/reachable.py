"""Wait until the cluster answers."""

from __future__ import annotations

import logging
import time

from confluent_kafka import KafkaException

from ..engine.errors import BrokerUnreachable
from ..engine.settings import Settings
from .offsets import admin_client

log = logging.getLogger(__name__)


def wait_for_broker(settings: Settings) -> None:
    """Return when the cluster answers.

    Raises:
        BrokerUnreachable: It did not within ``broker_wait_seconds``.
    """
    admin = admin_client(settings)
    deadline = time.monotonic() + settings.broker_wait_seconds
    delay = 0.25
    while True:
        left = deadline - time.monotonic()
        try:
            admin.list_topics(timeout=max(0.5, min(5.0, left)))
        except KafkaException as error:
            name = error.args[0].name()
            if left <= 0:
                raise BrokerUnreachable(
                    f"no broker answers at {settings.bootstrap} ({name}) after "
                    f"{settings.broker_wait_seconds:.0f} s: check bootstrap, network "
                    "and security settings"
                ) from None
            log.warning(
                "no broker answers at %s (%s); next try in %.1f s",
                settings.bootstrap,
                name,
                delay,
            )
            time.sleep(delay)
            delay = min(5.0, delay * 2)
        else:
            return
