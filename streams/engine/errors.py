"""Every error of the service, and how the runner handles it.

* StreamError
  x InvalidRecord      the record can never be processed  -> dead letter, carry on
  x RetriableError     the broker may recover             -> abort, seek back, retry
    * StateLocked        another process has the table    -> wait for it, bounded
    * RecordRefused      the broker refused an output     -> abort, retry; see GivenUp
  x Fenced             another instance owns the work     -> drop the producer, rejoin
  x UnknownOutcome     a transactional call timed out     -> new producer, ask the group
  x CorruptState       the local table cannot be trusted  -> delete it, restore
    * DamagedState       its files are damaged            -> delete, restore, count it
  x FatalError         a person must act                  -> stop the process
    * ConfigError        a setting is wrong               -> refuse to start
    * BrokerUnreachable  the cluster does not answer      -> stop after a bounded time
    * RegistryUnreachable  no schema registry answers     -> stop after a bounded time
    * InputError         a file is absent or unreadable   -> name it, stop
    * OutputError        a file can't be written          -> name it, stop
    * StateUnusable      the tables can't be used         -> stop; nothing is deleted
      * StateInUse         another process keeps them
      * StorageFull        the state folder has no space
      * StorageFailed      it can't be read or written
    * GivenUp            batches failed in a row          -> stop, in order; try again
    * TopicReplaced      a topic was made anew           -> stop; begin anew with it
    * SlotTaken          another worker has this name     -> stop; the supervisor tries
                                                             again some times

Messages name the field and the next action, never a value.
"""

from __future__ import annotations

from .reasons import ReasonCode


class StreamError(Exception):
    """Base class of all errors that the runner handles."""


class InvalidRecord(StreamError):
    """The record can never be processed, however often it is retried.

    Args:
        code: Of the dead letter; also the label of a metric.
        reason: Names the segment and field and the next action, never the value.
    """

    def __init__(self, code: ReasonCode, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class RetriableError(StreamError):
    """The broker did not answer, or asked for a retry; the call may still succeed."""


class StateLocked(RetriableError):
    """Another process has the table's files open, e.g. a worker that is draining."""


class RecordRefused(RetriableError):
    """The broker refused a record that was written, e.g. for its size."""


class Fenced(StreamError):
    """Another instance has taken over; this one may not commit anything."""


class UnknownOutcome(StreamError):
    """A transactional call timed out: it may or may not have taken effect."""


class CorruptState(StreamError):
    """A local table cannot be read, or does not belong to its topic."""


class DamagedState(CorruptState):
    """The files of a local table are damaged, as RocksDB says."""


class FatalError(StreamError):
    """The process must stop, and a person must act."""


class ConfigError(FatalError):
    """A setting is wrong; the message names the key and the known keys."""


class BrokerUnreachable(FatalError):
    """No broker answered within the bounded time."""


class RegistryUnreachable(FatalError):
    """No schema registry answered, or it failed."""


class InputError(FatalError):
    """A file or folder is absent or unreadable; the message names the path."""


class OutputError(FatalError):
    """A file or folder can't be written; the message names the path."""


class GivenUp(FatalError):
    """Batches failed again and again, and no record is known to be the cause."""


class TopicReplaced(FatalError):
    """A topic was deleted and made anew under the running worker."""


class SlotTaken(FatalError):
    """Another process has joined the group under this worker's name."""


class StateUnusable(FatalError):
    """The tables can't be used now; what they hold is intact."""


class StateInUse(StateUnusable):
    """Another process has kept a table open for longer than is waited."""


class StorageFull(StateUnusable):
    """No space is left for the tables; the message names the folder."""


class StorageFailed(StateUnusable):
    """The state folder can't be read or written; the message names it."""
