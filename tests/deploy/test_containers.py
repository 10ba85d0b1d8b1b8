"""Image and compose file, as far as they can be looked at without a Docker engine."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

import pytest
import typer
import yaml

from streams.cli.app import app
from streams.engine.settings import PREFIX
from streams.operations.settings import Settings, load_settings
from tests.deploy.promql import DEPLOY

ROOT = DEPLOY.parent
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICES = COMPOSE["services"]
OURS = {name: each for name, each in SERVICES.items() if each["image"] == "phistream"}
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
_, FIRST, LAST = DOCKERFILE.split("\nFROM ")
PROMETHEUS = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
GRAFANA = "/var/lib/grafana/dashboards/phistream.json"


def instructions(text, name):
    return re.findall(rf"^{name} (.+)$", text, re.MULTILINE)


def image_environment():
    words = (shlex.split(line) for line in instructions(LAST, "ENV"))
    return dict(word.split("=", 1) for line in words for word in line)


def parse(arguments):
    """Let the command line parse arguments, and run nothing."""
    command, context = typer.main.get_command(app), None
    while arguments is not None:
        name = "phistream" if context is None else context.info_name
        context = command.make_context(name, list(arguments), parent=context)
        command = context.command  # imported just now
        if not hasattr(command, "resolve_command"):
            return context.params
        _, command, arguments = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
    raise AssertionError


def settings_of(service):
    environment = {
        name: str(value)
        for name, value in (image_environment() | service["environment"]).items()
        if name.startswith(PREFIX)
    }
    return load_settings(environment=environment)


@pytest.mark.parametrize("name", OURS)
def test_a_service_of_ours_has_settings_that_exist(name):
    assert settings_of(OURS[name]).bootstrap == "kafka:9092"


@pytest.mark.parametrize(
    "name", [name for name, each in OURS.items() if "command" in each]
)
def test_a_service_of_ours_has_a_command_that_exists(name):
    assert parse(OURS[name]["command"])


def test_a_command_that_does_not_exist_would_be_seen():
    with pytest.raises(Exception, match="No such command"):
        parse(["runs", "intake"])


def test_the_one_shot_service_uses_commands_that_exist():
    [_, _, script] = OURS["topics"]["entrypoint"]

    for words in re.findall(r"phistream ([\w ./]+?)(?: &&|;|$)", script):
        assert parse(words.split()) is not None


@pytest.mark.parametrize("name", SERVICES)
def test_only_this_host_reaches_a_port(name):
    for port in SERVICES[name].get("ports", ()):
        assert port.startswith("127.0.0.1:")


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "kafka"])
def test_roots_are_read_only_and_nothing_is_allowed_that_is_not_needed(name):
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", SERVICES)
def test_what_is_mounted_is_there(name):
    for volume in SERVICES[name].get("volumes", ()):
        source = volume.split(":")[0]
        if source.startswith("."):
            assert (ROOT / source).exists()
            assert volume.endswith(":ro")
        else:
            assert source in COMPOSE["volumes"]


def test_prometheus_scrapes_every_worker_and_watch():
    jobs = {
        job["job_name"]: job["static_configs"][0]["targets"]
        for job in PROMETHEUS["scrape_configs"]
    }
    wanted = {}
    for stage in ("intake", "scrub"):
        port = settings_of(OURS[stage]).metrics_port
        workers = parse(OURS[stage]["command"])["workers"]
        wanted[f"phistream-{stage}"] = [f"{stage}:{port + n}" for n in range(workers)]
    page = parse(OURS["watch"]["command"])["port"]

    assert wanted | {"phistream-watch": [f"watch:{page}"]} == jobs
    workers = jobs["phistream-intake"] + jobs["phistream-scrub"]
    assert ",".join(workers) == settings_of(OURS["watch"]).watch_workers


def test_prometheus_loads_the_alerts_that_are_mounted_beside_it():
    assert PROMETHEUS["rule_files"] == ["alerts.yml"]
    assert "./deploy/prometheus:/etc/prometheus:ro" in SERVICES["prometheus"]["volumes"]


def test_grafana_gets_board_and_provisioning():
    volumes = dict(v.rsplit(":", 2)[:2] for v in SERVICES["grafana"]["volumes"][:2])

    assert volumes == {
        "./deploy/grafana/provisioning": "/etc/grafana/provisioning",
        "./deploy/grafana/phistream.json": GRAFANA,
    }


def test_the_image_runs_as_nobody_in_particular_and_copies_what_is_there():
    assert instructions(LAST, "USER") == ["phistream"]
    for line in instructions(FIRST, "COPY"):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
    assert not re.search(r"\bpip\b", LAST)


def test_tools_that_build_the_wheel_stay_in_the_stage_that_builds_it():
    [*steps] = instructions(FIRST, "RUN")
    [build] = [step for step in steps if "build.lock" in step]

    assert build.index("-r build.lock") < build.index("-m venv --without-pip")
    assert re.findall(r"phistream/bin/python install.* -r (\S+)", build) == [
        "image.lock"
    ]
    copied = [line for line in instructions(LAST, "COPY") if "--from=build" in line]
    assert [line.split()[1] for line in copied] == ["/opt/phistream", "/opt/compiled"]


def test_services_cannot_write_the_machine_code_that_they_run():
    folder = image_environment()["NUMBA_CACHE_DIR"]

    assert [line for line in instructions(LAST, "COPY") if folder in line] == [
        f"--from=build {folder} {folder}"
    ]
    assert not re.search(rf"chown.*{folder}|VOLUME.*{folder}", LAST)
    assert instructions(FIRST, "ENV") == [f"NUMBA_CACHE_DIR={folder}"]
    writers = {
        name
        for name, service in OURS.items()
        if f"compiled:{folder}:ro" not in service["volumes"]
    }
    assert writers == {"prepare"}
    prepare = OURS["prepare"]
    assert ([f"compiled:{folder}"], "none") == (
        prepare["volumes"],
        prepare["network_mode"],
    )


def test_keys_lie_apart_from_the_state_and_only_their_maker_writes_them():
    mounts = {
        name: [each for each in service.get("volumes", ()) if "keys:" in each]
        for name, service in OURS.items()
    }
    readers = {"intake": ["keys:/keys:ro"], "scrub": ["keys:/keys:ro"]}

    assert readers | {"topics": ["keys:/keys"]} == {
        name: found for name, found in mounts.items() if found
    }
    environment = COMPOSE["x-phistream"]["environment"]
    files = [value for name, value in environment.items() if "KEY_FILE" in name]
    assert [str(PurePosixPath(each).parent) for each in files] == ["/keys", "/keys"]
    assert re.search(r"install -d -m 0700 -o phistream.* /keys ", LAST)


def test_images_are_pinned_by_digest():
    """How to renew one: CONTRIBUTING.md."""
    bases = [line.split()[0] for line in re.findall(r"^FROM (.+)$", DOCKERFILE, re.M)]
    foreign = [each["image"] for each in SERVICES.values() if each not in OURS.values()]

    assert len(bases) == 2
    assert len({*bases}) == 1
    for image in (*bases, *foreign):
        assert re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image), image


def test_the_images_settings_exist():
    named = {
        name.removeprefix(PREFIX).lower()
        for name in image_environment()
        if name.startswith(PREFIX)
    }

    assert named <= set(Settings.model_fields)
