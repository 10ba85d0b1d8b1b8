"""librdkafka's errors as ours.

They are decided on their flags, never on their names: ``fatal()`` the producer is
spent, ``txn_requires_abort()`` the transaction is, and a transactional call that is
``retriable()`` has an unknown outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException

from ..engine.errors import Fenced, RetriableError, UnknownOutcome


@contextmanager
def translated(call: str) -> Iterator[None]:
    """Turn the client's exceptions outside of transactions into ours."""
    try:
        yield
    except KafkaException as error:
        raise _translated(error, call) from None


@contextmanager
def transactional(call: str) -> Iterator[None]:
    """Turn the client's exceptions of transactional calls into ours."""
    try:
        yield
    except KafkaException as error:
        raise _transactional(error, call) from None


def _translated(error: KafkaException, call: str) -> Exception:
    cause: KafkaError = error.args[0]
    kind = Fenced if cause.fatal() else RetriableError
    return kind(f"{call}: {cause.name()}")


def _transactional(error: KafkaException, call: str) -> Exception:
    cause: KafkaError = error.args[0]
    where = f"{call}: {cause.name()}"
    if cause.fatal():
        return Fenced(where)
    if cause.txn_requires_abort():
        return RetriableError(where)
    return UnknownOutcome(where)
