"""The arithmetic of `phistream size`, by hand, and its page against the factors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer import BadParameter

from streams.cli.size import size as command
from streams.engine.errors import ConfigError
from streams.operations.sizing.factors import Factor, Factors, measured
from streams.operations.sizing.model import BY_NOTE, Load, size_of
from streams.operations.sizing.page import CASES, cases_table, factors_table

ROOT = Path(__file__).parents[3]
MODULES = ROOT / "tests/benchmarks"

FACTORS = Factors(
    {
        name: Factor(value, "", "")
        for name, value in {
            "intake_us": 100, "intake_us_per_1000": 100,
            "scrub_us": 500, "scrub_us_per_1000": 500,
            "library_us": 200, "library_us_per_1000": 600,
            "broker_us": 400, "broker_us_per_1000": 0,
            "bytes_hl7_raw": 1000, "bytes_hl7_raw_per_1000": 500,
            "bytes_notes": -100, "bytes_notes_per_1000": 1100,
            "bytes_patient_updates": 300, "bytes_patient_updates_per_1000": 0,
            "bytes_notes_scrubbed": 200, "bytes_notes_scrubbed_per_1000": 400,
            "bytes_phi_audit": 700, "bytes_phi_audit_per_1000": 0,
            "worker_mb": 500,
            "patient_topic_bytes": 600, "patient_table_bytes": 300,
            "restore_per_second": 100_000,
        }.items()
    }
)  # fmt: skip
LOAD = Load(
    864_000_000,  # 10,000 a second
    12_000_000,
    archive_notes=1_000_000_000,
    characters=2000,
    peak=2,
    utilisation=0.5,
    replication=2,
    cores_per_host=8,
)


def test_workers_are_cores_at_the_peak():
    size = size_of(LOAD, FACTORS)

    assert 20_000 == size.notes_per_second
    # 300 µs and 1,500 µs, at half of a core
    assert {"intake": 12, "scrub": 60} == size.workers
    assert 16 == pytest.approx(size.broker_cores)
    assert 9 == size.hosts
    assert 8 * 500e6 == size.memory
    assert 120 == size.partitions


def test_disks_are_bytes_by_note_day_and_copy():
    disks = size_of(LOAD, FACTORS).disks

    copies = 864_000_000 * 2
    assert {
        "hl7.raw": copies * 2000 * 7,
        "notes": copies * 2100 * 7,
        "patient.updates": copies * 300 * 7,
        "notes.scrubbed": copies * 1000 * 30,
        "phi.audit": copies * 700 * 365,
        "patients": 12_000_000 * 600 * 2,
    } == {name: pytest.approx(each) for name, each in disks.items()}
    shorter = replace(LOAD, retention=LOAD.retention | {"phi.audit": 36.5})
    found = size_of(shorter, FACTORS).disks["phi.audit"]
    assert disks["phi.audit"] / 10 == pytest.approx(found)


def test_a_table_is_shared_by_the_workers_of_scrub():
    size = size_of(LOAD, FACTORS)

    assert 200_000 * 300 == pytest.approx(size.state)
    assert 2 == pytest.approx(size.restore_seconds)


def test_an_archive_takes_all_cores_of_the_hosts():
    # 1,400 µs a note on 72 cores
    assert 1.4e6 / 72 == pytest.approx(size_of(LOAD, FACTORS).archive_seconds)


def test_a_small_load_has_a_worker_of_each_stage_and_spare_partitions():
    size = size_of(Load(1, 1, archive_notes=0), FACTORS)

    assert {"intake": 1, "scrub": 1} == size.workers
    assert (1, 6, 0) == (size.hosts, size.partitions, size.archive_seconds)


def test_a_longer_note_never_takes_less():
    rows = {"x": Factor(10, "", ""), "x_per_1000": Factor(-5, "", "")}
    assert 10 == Factors(rows).of_note("x", 3000)


def test_a_short_note_never_takes_less_than_nothing():
    assert 0 == FACTORS.of_note("bytes_notes", 50)


def test_every_factor_is_measured_and_names_its_benchmark():
    factors = measured()
    needed = {f"bytes_{each.name.replace('.', '_')}" for each in BY_NOTE}
    needed |= {f"{each}_us" for each in ("intake", "scrub", "library", "broker")}
    needed |= {f"{each}_per_1000" for each in needed}
    needed |= {"worker_mb", "patient_topic_bytes", "patient_table_bytes"}
    assert needed | {"restore_per_second"} == factors.keys()
    for factor in factors.values():
        module = factor.command.split()[2].rpartition(".")[2]
        assert (MODULES / f"{module}.py").exists()


def test_the_page_has_the_figures_of_the_factors():
    text = (ROOT / "deploy/sizing.md").read_text("utf-8")
    tables = cases_table(), factors_table()

    for each in tables:
        assert each in text
    assert text.count("\n|") == sum(each.count("|\n") for each in tables)


def test_the_command_prints_the_three_cases_or_one_load(capsys):
    command(None, None)
    printed = capsys.readouterr().out
    for name in CASES:
        assert name.split()[-1] in printed

    command(864_000, 1000)
    printed = capsys.readouterr().out
    assert "30.0" in printed


@pytest.mark.parametrize("wrong", ["note=3", "notes=x", "notes=-1", "notes"])
def test_a_wrong_retention_is_refused(wrong):
    with pytest.raises(ConfigError, match="--retention"):
        command(1000, 1000, retention=[wrong])


def test_half_a_load_is_refused():
    with pytest.raises(BadParameter, match="name both"):
        command(1000, None)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_size_that_is_no_finite_number_is_refused(number):
    with pytest.raises(BadParameter, match="finite"):
        command(1000, 1000, peak=number)
