"""The demo's own broker and workers, stopped and removed at its end."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import orjson
from rich.console import Console

from streams.engine.errors import FatalError
from streams.engine.keys.files import write_private
from streams.engine.keys.office import make_pair, public_file
from streams.engine.settings import PREFIX
from streams.kafka.client import wait_for_broker
from streams.kafka.local_broker import Cluster
from streams.kafka.settings import RegistrySettings
from streams.kafka.topic_admin import create_topics
from streams.operations.settings import Settings

DRAIN_SECONDS = 60.0
TAIL_LINES = 5
TAIL_BYTES = 65_536


@dataclass(slots=True)
class Service:
    """One running stage."""

    stage: str
    process: subprocess.Popen[bytes]
    log: IO[bytes]

    def check(self) -> None:
        """Raise FatalError when it has ended."""
        status = self.process.poll()
        if status is not None:
            raise FatalError(
                f"{self.stage} ended with {status}: read {self.log.name}; "
                f"its last lines:\n{self.tail()}"
            )

    def tail(self, lines: int = TAIL_LINES) -> str:
        """Return the last lines of its log, without those for debugging."""
        with Path(self.log.name).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
            text = log.read().decode(errors="replace")
        told = [line for line in text.splitlines() if '"level":"debug"' not in line]
        return "\n".join(told[-lines:])

    def stop(self) -> None:
        """Terminate it, and kill it if it does not drain in time."""
        self.process.terminate()
        try:
            self.process.wait(DRAIN_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


@contextmanager
def home(settings: Settings, report: Callable[[str], None]) -> Iterator[Settings]:
    """Give settings whose state, key and broker are in a temporary folder.

    When the demo fails, the services' logs are kept and ``report`` gets their folder.
    The host's metrics ports are not used: its own services may listen there.  Repeated
    messages are not looked for: those of the ward are keyed by patient.  No schema
    registry is asked.
    """
    folder = Path(tempfile.mkdtemp(prefix="phistream-demo-"))
    key = folder / "pseudonym.key"
    write_private(key, secrets.token_hex(32).encode())
    office = folder / "office.key"
    make_pair(office)
    try:
        yield settings.model_copy(
            update={
                "state_dir": folder / "state",
                "broker_dir": folder / "broker",
                "pseudonym_key_file": key,
                "pseudonym_keys": (),
                "dead_letter_key_file": public_file(office),
                "bootstrap": "",
                "metrics_port": 0,
                "repeated_seconds": 0,
                "watch_workers": "",
                "schema_registry": RegistrySettings.model_validate({}),
            }
        )
    except Exception:
        keep_logs(folder)
        report(f"the logs are kept in {folder}")
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def keep_logs(folder: Path) -> None:
    """Delete a demo's folder except the logs: its data may be the user's messages."""
    # By name: Kafka calls its files of records .log as well.
    logs = {*folder.glob("*.log"), *folder.glob("broker/node-*/kafka.log")}
    for path in sorted(folder.rglob("*"), reverse=True):
        if path in logs:
            continue
        if path.is_dir() and not path.is_symlink():
            with suppress(OSError):  # a log is in it
                path.rmdir()
        else:
            path.unlink(missing_ok=True)


@contextmanager
def broker(cluster: Cluster, settings: Settings) -> Iterator[Settings]:
    """Give settings that name the running cluster, with topics; stop it in the end."""
    try:
        named = settings.model_copy(update={"bootstrap": cluster.bootstrap})
        wait_for_broker(named)
        create_topics(named)
        yield named
    finally:
        cluster.down(seconds=0)  # `home` deletes its data


@contextmanager
def services(
    settings: Settings, workers: int, console: Console
) -> Iterator[list[Service]]:
    """Give intake and scrub, started by the command line; stop them in the end."""
    running: list[Service] = []
    try:
        for stage, count in (("intake", 1), ("scrub", workers)):
            running.append(
                start_service(stage, _own_port(stage, settings), workers=count)
            )
            console.print(f"started: phistream run {stage} --workers {count}")
        yield running
    finally:
        for service in running:
            service.process.terminate()  # they drain at the same time
        for service in running:
            service.stop()


def start_service(stage: str, settings: Settings, *, workers: int = 1) -> Service:
    """Start ``phistream run`` in its own process, with a log next to ``state_dir``."""
    return _start(stage, ["run", stage, "--workers", str(workers)], settings)


def start_watch(settings: Settings, *, port: int) -> Service:
    """Start ``phistream watch`` as a process, with the demo's notes on its page."""
    return _start("watch", ["watch", "--demo", "--port", str(port)], settings)


def _own_port(stage: str, settings: Settings) -> Settings:
    """Return settings with another metrics port for scrub than for intake."""
    if stage == "intake" or not settings.metrics_port:
        return settings
    return settings.model_copy(update={"metrics_port": settings.metrics_port + 1})


def _start(name: str, arguments: list[str], settings: Settings) -> Service:
    folder = settings.state_dir.parent
    log = (folder / f"{name}.log").open("ab")
    process = subprocess.Popen(  # noqa: S603  # our own command, our own arguments
        [sys.executable, "-m", "streams.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=_environment(settings),
        # Ctrl-C is for the demo, which then drains its services in order.
        start_new_session=True,
    )
    return Service(name, process, log)


def _environment(settings: Settings) -> dict[str, str]:
    given = {
        name: str(getattr(settings, name))
        for name in (
            "bootstrap", "group", "state_dir", "broker_dir", "pseudonym_key_file",
            "dead_letter_key_file",
            "preset", "policy", "batch_records", "batch_seconds", "max_note_bytes",
            "max_message_bytes", "broker_wait_seconds", "standby_copies",
            "state_lock_seconds",
            "log_level", "first_slot", "session_seconds", "transaction_seconds",
            "watch_workers", "metrics_host", "metrics_port", "metrics_port_by_slot",
            "poll_seconds",
            "watchdog_seconds", "startup_seconds", "note_seconds",
            "note_seconds_per_mb", "batch_bytes", "portion_bytes",
            "unknown_patient", "unknown_patient_seconds", "rebuild_messages",
            "repeated_seconds",
        )
    }  # fmt: skip
    types = orjson.dumps(settings.unknown_patient_types).decode()
    given["unknown_patient_types"] = types
    if settings.pseudonym_keys:
        del given["pseudonym_key_file"]
        keys = [
            each.model_dump(mode="json", by_alias=True)
            for each in settings.pseudonym_keys
        ]
        given["pseudonym_keys"] = orjson.dumps(keys).decode()
    registry = settings.schema_registry.model_dump(mode="json", by_alias=True)
    given["schema_registry"] = orjson.dumps(registry).decode()
    given["traces"] = settings.traces.model_dump_json(exclude_none=True)
    if settings.traces_headers is not None:
        given["traces_headers"] = settings.traces_headers.get_secret_value()
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(PREFIX)}
    return inherited | {PREFIX + name.upper(): value for name, value in given.items()}
