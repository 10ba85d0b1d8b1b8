"""What ends a process gives a status and says the next step; a bug shows no text."""

from __future__ import annotations

import errno

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams.engine.errors import (
    BrokerUnreachable,
    ConfigError,
    FatalError,
    InputError,
    OutputError,
    RetriableError,
    SlotTaken,
    StateLocked,
    StorageFull,
)
from streams.engine.exit_status import status_of
from streams.kafka.client import transactional, translated


def ending(error):
    def main():
        raise error

    return main


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (ConfigError("group: wrong"), 78, "refused to start: group: wrong"),
        (SlotTaken("another worker"), 75, "stopped: another worker"),
        (BrokerUnreachable("no broker"), 69, "no broker"),
        (InputError("f: absent"), 66, "f: absent"),
        (OutputError("f: closed"), 73, "f: closed"),
        (StorageFull("state_dir: no space"), 74, "state_dir: no space"),
        (OSError(errno.ENOSPC, "ZZ", "/ZZ"), 74, "no space is left on a file system"),
        (OSError(errno.EDQUOT, "ZZ", "/ZZ"), 74, "make room (df -h)"),
        (RetriableError("call: x"), 75, "call: x; see to the brokers"),
        (StateLocked("table: locked"), 75, "phistream doctor"),
        (FatalError("report it"), 70, "stopped: report it"),
        (OSError(errno.EIO, "ZZ"), 70, "stopped by a bug"),
        (ValueError("ZZ"), 70, "stopped by a bug"),
    ],
)
def test_each_error_ends_with_its_status_and_the_next_step(error, status, says, caplog):
    assert status == status_of(ending(error))

    [record] = caplog.records
    assert says in record.message
    assert "ZZ" not in record.message
    assert (says == "stopped by a bug") == bool(record.exc_info)


def test_what_ends_well_ends_with_0():
    assert status_of(lambda: None) == 0


def test_an_admin_call_that_takes_too_long_may_be_tried_again():
    said = "describe x: the cluster did not answer"

    with pytest.raises(RetriableError, match=said), translated("describe x"):
        raise TimeoutError


@pytest.mark.parametrize("guard", [translated, transactional])
def test_a_slot_that_another_process_has_taken_is_not_retried(guard):
    error = KafkaError(KafkaError.FENCED_INSTANCE_ID)

    with pytest.raises(SlotTaken, match="first_slot"), guard("commit"):
        raise KafkaException(error)
