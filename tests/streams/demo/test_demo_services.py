"""The demo's own services: ports that leave each other out, logs that outlive it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext

import pytest

from streams.demo.page import with_metrics
from streams.demo.services import Service, home
from streams.engine.errors import FatalError
from streams.operations.settings import Settings


@pytest.mark.parametrize("offset", [0, 1, 2])
@pytest.mark.parametrize("workers", [1, 2])
def test_no_service_is_given_the_port_of_the_page(workers, offset):
    """18080 and its neighbours are where the search for free ports begins."""
    page = with_metrics(Settings(), workers, page=1).metrics_port + offset

    named = with_metrics(Settings(), workers, page=page)

    ports = [int(each.rpartition(":")[2]) for each in named.watch_workers.split(",")]
    assert page not in ports
    assert [named.metrics_port + n for n in range(workers + 1)] == ports


@pytest.fixture
def folder_of(tmp_path, monkeypatch):
    """Run the demo's home under a temporary folder and return what is left there."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def run(error):
        reported = []
        with (
            pytest.raises(type(error)) if error else nullcontext(),
            home(Settings(metrics_port=9464), reported.append) as settings,
        ):
            assert settings.metrics_port == 0
            folder = settings.state_dir.parent
            segment = folder / "broker/node-1/data/notes-0/00000000000000000000.log"
            segment.parent.mkdir(parents=True)
            segment.write_text("a record")
            (folder / "broker/node-1/kafka.log").write_text("of the broker")
            (folder / "intake.log").write_text("of intake")
            if error:
                raise error
        left = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
        return left, reported, folder

    return run


def test_the_logs_of_a_failed_demo_stay_and_nothing_else(folder_of):
    left, reported, folder = folder_of(FatalError("intake ended with 78"))

    assert left == {"intake.log", "broker/node-1/kafka.log"}
    assert reported == [f"the logs are kept in {folder}"]


@pytest.mark.parametrize("error", [None, KeyboardInterrupt()])
def test_a_demo_that_passes_or_is_interrupted_leaves_nothing(folder_of, error):
    left, reported, folder = folder_of(error)

    assert (set(), [], False) == (left, reported, folder.exists())


def test_a_service_that_ended_is_reported_with_the_last_lines_of_its_log(tmp_path):
    code = (
        """import sys; [print(n) for n in range(9)]; print('{"level":"debug"}');"""
        """ sys.exit('phistream: port: taken')"""
    )
    with (tmp_path / "intake.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", code], stdout=log, stderr=log
        )
        process.wait()
        service = Service("intake", process, log)

        with pytest.raises(FatalError) as caught:
            service.check()

    message = str(caught.value)
    assert f"intake ended with 1: read {tmp_path}/intake.log" in message
    assert message.endswith("\n5\n6\n7\n8\nphistream: port: taken")
