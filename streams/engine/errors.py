"""Every error of the service, and what the runner does about it.

* StreamError
  x InvalidRecord      the record can never be processed  -> dead letter, carry on
  x RetriableError     the broker may recover             -> abort, seek back, retry
    * StateLocked        another process has the table    -> the same: wait for it
  x Fenced             another instance owns the work     -> drop the producer, rejoin
  x UnknownOutcome     a commit neither failed nor passed -> new producer, ask the group
  x CorruptState       the local table cannot be trusted  -> delete it, restore
  x FatalError         no code can help                   -> stop the process
    * ConfigError        a setting is wrong               -> refuse to start
    * BrokerUnreachable  the cluster stays silent         -> stop after a bounded time
    * InputError         a file is absent or unreadable   -> name it, stop
    * OutputError        a file can't be written          -> name it, stop
    * StorageFull        the state folder has no space    -> stop; nothing is deleted

No message holds a value: it names the field and the next step.
"""

from __future__ import annotations

from .reasons import ReasonCode


class StreamError(Exception):
    """Base class of all errors that the runner knows how to handle."""


class InvalidRecord(StreamError):
    """The record can never be processed, however often it is tried.

    Args:
        code: Of the dead letter; also the label of a metric.
        reason: Names the segment and field and the next step, never the value.
    """

    def __init__(self, code: ReasonCode, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class RetriableError(StreamError):
    """The broker did not answer, or asked for another try; the call may yet succeed."""


class StateLocked(RetriableError):
    """Another process, e.g. a worker that still drains, has the table's files open."""


class Fenced(StreamError):
    """Another instance has taken over; nothing of ours may be committed."""


class UnknownOutcome(StreamError):
    """A transactional call timed out: it may or may not have taken effect."""


class CorruptState(StreamError):
    """A local table cannot be read, or does not belong to its topic."""


class FatalError(StreamError):
    """The process must stop and a person must look."""


class ConfigError(FatalError):
    """A setting is wrong; the message names the key and what is known."""


class BrokerUnreachable(FatalError):
    """No broker answered within the bounded time."""


class InputError(FatalError):
    """A file or folder to read is not there or may not be read; names the path."""


class OutputError(FatalError):
    """A file or folder can't be written; names the path."""


class StorageFull(FatalError):
    """No space is left for the tables; they are whole as far as they go."""
