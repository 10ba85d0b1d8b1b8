"""The processes that scrub: a nursery that has loaded everything, and its forks.

The nursery loads models and lists once and has one thread, so that a worker is a fork
of it: made in milliseconds, with the nursery's memory shared.  A worker that overran
its limit, or was killed, is replaced by another fork; nothing of a request outlives it.

The HTTP process sends the nursery one socket for each worker that it wants, and talks
to the worker through that socket's other end.  A worker ends when the other end is
closed, and is killed by the kernel when the nursery ends.
"""

from __future__ import annotations

import gc
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable

from streams.engine import gc_tuning
from streams.engine.deadline import Deadline, Overrun
from streams.engine.exit_status import EX_SOFTWARE, status_of
from streams.engine.heartbeat import Parent
from streams.engine.log import set_up_logging
from streams.engine.reasons import ReasonCode
from streams.operations.settings import Settings

from .scrubbing import Scrubber
from .tasks import SIZES, Answer, Refused, Task

log = logging.getLogger(__name__)

READY, FORK = b"r", b"f"
PID_BYTES = 8

Answers = Callable[[Task], Answer]


def cpu_seconds(settings: Settings, size: int) -> float:
    """Return the CPU time that a request may take.

    Args:
        settings: Of the gateway.
        size: Of its body, in bytes.
    """
    return settings.note_seconds + settings.note_seconds_per_mb * size / 1e6


def tend(
    settings: Settings, own_key: bytes, control: socket.socket, parent: int
) -> None:
    """Run the nursery until its control socket is closed; ends the process.

    Args:
        settings: Of the gateway.
        own_key: Of pseudonyms, where no key is set.
        control: Brings the sockets of workers.
        parent: The HTTP process's id.
    """
    set_up_logging(settings.log_level)
    # A signal to the process group must not end a worker before its request.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    Parent(parent).bind(signal.SIGKILL)
    # A core dump would hold notes.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    raise SystemExit(status_of(lambda: _tend(settings, own_key, control)))


def _tend(settings: Settings, own_key: bytes, control: socket.socket) -> None:
    scrubber = Scrubber.of(settings, own_key)
    gc.collect()
    gc_tuning.settle()
    try:
        control.send(READY)
        while True:
            data, [*descriptors], _, _ = socket.recv_fds(control, 1, 1)
            if not data:
                return
            for each in descriptors:
                _fork(settings, scrubber, control, each)
    except ConnectionError:
        return


def _fork(
    settings: Settings, scrubber: Scrubber, control: socket.socket, descriptor: int
) -> None:
    nursery = os.getpid()
    if os.fork():
        os.close(descriptor)
        return
    status = EX_SOFTWARE
    try:
        control.close()
        Parent(nursery).bind(signal.SIGKILL)
        with socket.socket(fileno=descriptor) as channel:
            status = status_of(lambda: _work(settings, scrubber.answer, channel))
    finally:
        # Never the clean-up of the nursery.
        os._exit(status)


def _work(settings: Settings, answer: Answers, channel: socket.socket) -> None:
    """Answer requests until the channel is closed, or one overran its limit."""
    limited = Deadline()
    channel.sendall(os.getpid().to_bytes(PID_BYTES, "big"))
    while True:
        sizes = _read(channel, SIZES.size)
        if not sizes:
            return
        head, body = SIZES.unpack(sizes)
        task = Task.decoded(_read(channel, head), _read(channel, body))
        seconds = cpu_seconds(settings, body)
        try:
            result = limited(lambda task=task: answer(task), seconds)  # type: ignore[misc]
        except Overrun:
            # What the call was changing is unusable: another worker goes on.
            channel.sendall(overrun().encoded())
            return
        except MemoryError:
            log.critical("a worker ran out of memory")
            return
        channel.sendall(result.encoded())


def overrun() -> Answer:
    """Return the answer to a request that took too long."""
    reason = "the request took too long; send less at once, and report it if it is one"
    return Answer.of(Refused(ReasonCode.DEADLINE, f"{reason} note"))


def _read(channel: socket.socket, size: int) -> bytes:
    """Return so many bytes, or none if the channel is closed."""
    received = bytearray(size)
    view, at = memoryview(received), 0
    while at < size:
        count = channel.recv_into(view[at:])
        if not count:
            return b""
        at += count
    return bytes(received)
