"""Each check of the doctor, on what is good and on what is broken; no broker here."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files
from io import StringIO
from types import SimpleNamespace

import pytest
from confluent_kafka import Message
from rich.console import Console

from deid_core import TermFiles
from streams.engine.errors import RetriableError
from streams.engine.keys.office import make_pair
from streams.engine.private_files import private_folder
from streams.kafka.topics import (
    ALL_TOPICS,
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
)
from streams.operations.doctor import (
    broker,
    clocks,
    detection,
    disk,
    groups,
    keys,
    ports,
    setup,
    values,
)
from streams.operations.doctor import context as context_module
from streams.operations.doctor import topics as topic_checks
from streams.operations.doctor.checks import CHECKS, Check, run_checks
from streams.operations.doctor.context import CheckContext
from streams.operations.doctor.finding import Level, fail, ok, warn
from streams.operations.doctor.report import report, rows, skipped, verdict
from streams.operations.doctor.topics import SeenTopic, judge_dead_letters
from streams.operations.settings import Settings

OK, WARN, FAIL = Level.OK, Level.WARN, Level.FAIL
MARKER = "zzsecretzz"  # stands for whatever must not be shown


def levels(findings):
    return [each.level for each in findings]


def text_of(findings):
    return " ".join(f"{each.seen} {each.todo}" for each in findings)


def context_of(tmp_path, text="", **environment):
    config = tmp_path / "c.toml"
    config.write_text(f'bootstrap = "127.0.0.1:9"\n{text}')
    return CheckContext(
        config, {}, {f"PHISTREAM_{k}": v for k, v in environment.items()}
    )


def with_settings(**values):
    return SimpleNamespace(settings=Settings(bootstrap="127.0.0.1:9", **values))


# --- how checks are run


def test_a_check_that_breaks_is_a_fail_with_the_class_name_only():
    def breaks(_context):
        raise ValueError(MARKER)

    [results] = run_checks(None, [Check("broken", breaks)])

    assert [fail("ValueError", "the check itself failed: report it")] == [
        *results.findings
    ]


def test_what_a_check_found_before_it_broke_is_kept():
    def breaks(_context):
        yield ok("the first")
        raise RetriableError("list offsets: TIMED_OUT")

    [results] = run_checks(None, [Check("broken", breaks)])

    assert levels(results.findings) == [OK, FAIL]
    assert results.findings[1].seen == "list offsets: TIMED_OUT"


def test_what_a_failed_check_is_needed_for_is_not_run():
    def never(_context):
        pytest.fail("it was run")

    first = Check("first", lambda _context: [fail("bad", "fix")])
    second = Check("second", never, ("first",))
    third = Check("third", never, ("second",))

    results = [*run_checks(None, [first, second, third])]

    assert [levels(each.findings) for each in results] == [[FAIL], [WARN], [WARN]]
    assert results[1].findings[0].seen == "not checked: first failed"


def test_one_line_names_all_checks_that_a_failed_one_leaves_out():
    bad = Check("bad", lambda _context: [fail("bad", "fix")])
    others = [Check(name, lambda _context: [], ("bad",)) for name in ("two", "three")]
    shown = StringIO()

    results = [
        *run_checks(None, [bad, *others, Check("good", lambda _context: [ok("x")])])
    ]
    Console(file=shown, width=80).print(skipped(results), verdict(results))

    first, *_, last = [line.strip() for line in shown.getvalue().splitlines()]
    assert "skipped, since bad failed: two, three" in first
    assert last == "1 OK, 0 WARN, 1 FAIL, 2 skipped"


def test_without_a_cluster_every_check_that_needs_none_runs(tmp_path):
    context = CheckContext(None, {"broker_dir": tmp_path, "state_dir": tmp_path}, {})
    without = [check for check in CHECKS if check.name not in ("self-test", "key")]

    results = {each.check: each for each in run_checks(context, without)}

    assert levels(results["configuration"].findings) == [OK]
    assert levels(results["client"].findings) == [FAIL]
    assert "phistream broker up" in text_of(results["client"].findings)
    assert {"schemas", "models", "state dir", "ports", "python"} <= {
        name for name, each in results.items() if not each.failed_need
    }
    assert {each.failed_need for each in results.values() if each.failed_need} == {
        "client"
    }


def test_every_check_comes_after_those_it_needs():
    names = [check.name for check in CHECKS]
    assert len(names) == len({*names})
    for place, check in enumerate(CHECKS):
        assert {*check.needs} <= {*names[:place]}, check.name


def test_the_report_has_the_worst_level_and_the_next_steps():
    checks = [
        Check("one", lambda _context: [ok("fine")]),
        Check("two", lambda _context: [warn("so so", "look"), fail("bad", "fix it")]),
    ]
    results = [*run_checks(None, checks)]

    found = report(results)

    assert (found["level"], len(found["findings"])) == ("FAIL", 3)
    assert found["findings"][2] == {
        "check": "two",
        "level": "FAIL",
        "seen": "bad",
        "todo": "fix it",
    }
    assert rows(results[1]).row_count == 2


# --- Python, configuration, client


@pytest.mark.parametrize(
    ("version", "system", "bits", "level"),
    [
        ("3.11.2", "Linux", 64, OK),
        ("3.14.8", "Linux", 64, OK),
        ("3.15.0rc1", "Linux", 64, WARN),
        ("3.10.13", "Linux", 64, FAIL),
        ("3.12.1", "Linux", 32, FAIL),
        ("3.12.1", "Darwin", 64, WARN),
    ],
)
def test_python_and_platform(version, system, bits, level):
    assert levels(setup.judge_platform(version, system, bits)) == [level]


def test_a_missing_library_is_named_and_extras_are_not_asked_for():
    requirements = ["orjson<4,>=3.10", "no-such-lib>1", 'nor-this>1; extra == "dev"']

    assert setup.missing_libraries(requirements) == ["no-such-lib"]


def test_this_installation_is_fine():
    assert {OK} == {*levels(setup.python(None))}


def test_a_good_configuration_names_its_sources_and_no_value(tmp_path):
    findings = [*setup.configuration(context_of(tmp_path, KAFKA_PASSWORD=MARKER))]

    assert levels(findings) == [OK]
    assert "kafka_password" in text_of(findings)
    assert MARKER not in text_of(findings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("batch_record = 7", "did you mean batch_records?"),
        (f'batch_records = "{MARKER}"', "batch_records"),
        ("= 3", "not TOML"),
        ('json_map = "none.toml"', "json_map none.toml: can't be read"),
    ],
)
def test_a_wrong_configuration_fails_and_says_where(tmp_path, text, expected):
    findings = [*setup.configuration(context_of(tmp_path, text))]

    assert levels(findings) == [FAIL]
    assert expected in text_of(findings)
    assert MARKER not in text_of(findings)


def test_a_file_that_is_not_there_fails(tmp_path):
    assert levels(setup.configuration(CheckContext(tmp_path / "none", {}, {}))) == [
        FAIL
    ]


def test_an_unknown_environment_variable_fails(tmp_path):
    findings = [*setup.configuration(context_of(tmp_path, GROOP="x"))]

    assert levels(findings) == [FAIL]
    assert "did you mean group?" in text_of(findings)


def test_a_watchdog_that_bites_before_a_transaction_ends_is_reported(tmp_path):
    text = "watchdog_seconds = 5\ntransaction_seconds = 20"

    assert levels(setup.configuration(context_of(tmp_path, text))) == [OK, WARN]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'[kafka]\n"socket.timeout.ms" = "{MARKER}"', "property socket.timeout.ms"),
        (f'[kafka]\n"ssl.ca.location" = "/{MARKER}"\n"security.protocol" = "ssl"', ""),
    ],
)
def test_a_client_property_that_is_refused_is_named_without_its_value(
    tmp_path, text, expected
):
    findings = [*setup.client_properties(context_of(tmp_path, text))]

    assert levels(findings) == [FAIL]
    assert expected in text_of(findings)
    assert MARKER not in text_of(findings)


@pytest.mark.parametrize(
    ("protocol", "bootstrap", "level"),
    [
        ("plaintext", "127.0.0.1:9092,[::1]:9092,localhost:9", OK),
        ("sasl_ssl", "kafka.example.org:9092", OK),
        ("plaintext", "127.0.0.1:9092,kafka.example.org:9092", WARN),
        ("sasl_plaintext", "10.0.0.1:9092", WARN),
    ],
)
def test_notes_in_the_clear_beyond_this_host_are_reported(protocol, bootstrap, level):
    assert levels(setup.judge_protocol(protocol, bootstrap)) == [level]


# --- the broker


def test_a_silent_broker_fails_and_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(context_module, "TIMEOUT_SECONDS", 0.3)

    findings = [*broker.broker(context_of(tmp_path))]

    assert levels(findings) == [FAIL]
    assert "127.0.0.1:9" in text_of(findings)
    assert "phistream broker up" in text_of(findings)


@pytest.mark.parametrize(
    ("versions", "level", "release"),
    [
        ({1: (4, 18), 28: (0, 5), 65: (0, 0)}, OK, "4.0"),
        ({1: (0, 13), 28: (0, 3), 65: (0, 0)}, OK, "3.0"),
        ({1: (0, 11), 28: (0, 3)}, OK, "2.5"),
        ({1: (0, 11), 28: (0, 2)}, FAIL, "older than Kafka 2.5"),
        ({}, WARN, ""),
    ],
)
def test_a_broker_that_does_not_fence_by_generation_fails(versions, level, release):
    finding = broker.judge_versions(versions)

    assert level is finding.level
    assert release in finding.seen


GOOD_LIMITS = {
    "group.min.session.timeout.ms": "6000",
    "group.max.session.timeout.ms": "1800000",
    "transaction.max.timeout.ms": "900000",
    "auto.create.topics.enable": "false",
}


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({}, OK),
        ({"group.min.session.timeout.ms": "30000"}, FAIL),
        ({"group.max.session.timeout.ms": "7000"}, FAIL),
        ({"transaction.max.timeout.ms": "5000"}, FAIL),
        ({"auto.create.topics.enable": "true"}, WARN),
    ],
)
def test_limits_of_the_broker_that_do_not_suit_are_reported(changes, level):
    settings = Settings(session_seconds=10, transaction_seconds=20)

    findings = [*broker.judge_limits(GOOD_LIMITS | changes, settings)]

    assert level is max(levels(findings), key=[*Level].index)


# --- topics


def seen(**changes):
    config = {"min.insync.replicas": "2"} | changes.pop("config", {})
    return SeenTopic(**({"partitions": 6, "copies": 3, "config": config} | changes))


def all_seen(**changes):
    return {topic.name: seen() for topic in ALL_TOPICS} | changes


def test_topics_as_declared_are_fine():
    everything = all_seen()

    assert [*topic_checks.judge_presence(everything)] == []
    assert [*topic_checks.judge_counts(everything)] == []
    assert [*topic_checks.judge_copies(everything, 3)] == []
    assert [*topic_checks.judge_topic(NOTES, seen(config=NOTES.config()))] == []


def test_a_missing_topic_fails_unless_only_watch_needs_it():
    without = {n: t for n, t in all_seen().items() if n != "notes"}
    without_watch = {n: t for n, t in all_seen().items() if n != "watch.audit"}

    assert levels(topic_checks.judge_presence(without)) == [FAIL]
    assert levels(topic_checks.judge_presence(without_watch)) == [WARN]


def test_partitions_that_can_not_be_joined_fail():
    findings = [*topic_checks.judge_counts(all_seen(patients=seen(partitions=4)))]

    assert levels(findings) == [FAIL]
    assert "patients has 4 partitions and notes 6" in text_of(findings)


def test_a_table_of_seen_messages_with_another_count_than_hl7_raw_is_a_warning():
    changed = all_seen() | {"messages.seen": seen(partitions=4)}

    assert levels(topic_checks.judge_counts(changed)) == [WARN]


def test_a_table_of_watch_with_another_count_than_its_topic_fails():
    changed = all_seen() | {"watch.audit": seen(partitions=4)}

    assert levels(topic_checks.judge_counts(changed)) == [FAIL]


@pytest.mark.parametrize(
    ("topic", "config", "level"),
    [
        (PATIENTS, {"cleanup.policy": "delete"}, FAIL),
        (PATIENTS, {"delete.retention.ms": "1000"}, FAIL),
        (NOTES, {"cleanup.policy": "compact"}, FAIL),
        (NOTES, {"max.message.bytes": "1048588"}, FAIL),
        (NOTES, {"retention.ms": "1000"}, WARN),
    ],
)
def test_a_topic_that_differs_is_reported_with_the_command_that_corrects_it(
    topic, config, level
):
    findings = [*topic_checks.judge_topic(topic, seen(config=topic.config() | config))]

    assert levels(findings) == [level]
    assert f"--entity-name {topic.name} --add-config" in text_of(findings)


def test_a_larger_message_size_than_declared_is_fine():
    config = NOTES.config() | {"max.message.bytes": str(64 * 1024 * 1024)}

    assert [*topic_checks.judge_topic(NOTES, seen(config=config))] == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"leaderless": 1}, [FAIL]),
        ({"config": {"min.insync.replicas": "4"}}, [FAIL]),
        ({"behind": 2}, [WARN]),
        ({"config": {"min.insync.replicas": "1"}}, [WARN]),
        ({"copies": 1, "config": {"min.insync.replicas": "1"}}, [WARN]),
    ],
)
def test_copies_that_lose_records_or_can_not_be_written_are_reported(changes, expected):
    findings = [*topic_checks.judge_copies({"notes": seen(**changes)}, 3)]

    assert expected == levels(findings)
    assert findings[0].seen.startswith("notes: ")


# --- schemas and values


def record(topic, value, **headers):
    return Message(
        topic=topic.name,
        partition=2,
        offset=17,
        value=value if value is None else json.dumps(value).encode(),
        headers=[(name, text.encode()) for name, text in headers.items()],
    )


def example_of(topic):
    folder = files("schemas") / topic.name / "examples/valid"
    return json.loads(next(iter(folder.iterdir())).read_text())


def test_every_schema_compiles():
    assert levels(values.schemas(None)) == [OK]


@pytest.mark.parametrize("topic", values.CHECKED, ids=lambda topic: topic.name)
def test_values_that_keep_their_schema_are_fine(topic):
    finding = values.judge_values(topic, [record(topic, example_of(topic))])

    assert OK is finding.level


@pytest.mark.parametrize("topic", values.CHECKED, ids=lambda topic: topic.name)
def test_a_value_that_breaks_its_schema_is_reported_only_by_position_and_rule(topic):
    finding = values.judge_values(topic, [record(topic, {MARKER: MARKER})])

    assert (FAIL if topic in values.OURS else WARN) is finding.level
    assert f"{topic.name}[2]@17" in finding.seen
    assert MARKER not in finding.seen


def test_only_patients_has_tombstones():
    for topic in (PATIENTS, PATIENT_UPDATES):
        assert OK is values.judge_values(topic, [record(topic, None)]).level
    assert WARN is values.judge_values(NOTES, [record(NOTES, None)]).level


def test_a_version_of_the_future_is_reported():
    newer = record(
        NOTES_SCRUBBED, example_of(NOTES_SCRUBBED), schema="notes.scrubbed/2"
    )

    assert "version" in values.judge_values(NOTES_SCRUBBED, [newer]).seen


# --- detection


@pytest.mark.parametrize("preset", ["lexical", "hybrid-recall", "meddocan"])
def test_a_good_preset_loads_and_scrubs_what_is_invented(preset):
    context = with_settings(preset=preset)

    assert {OK} == {*levels(detection.models(context))}
    assert {OK} == {*levels(detection.self_test(context))}


def test_the_product_is_tried_with_and_without_a_record():
    assert levels(detection.self_test(with_settings())) == [OK, OK]


def test_a_preset_that_misses_names_fails_without_showing_them(tmp_path):
    preset = tmp_path / "blind.toml"
    preset.write_text('name = "blind"\ndetectors = ["known"]\n')

    findings = [*detection.self_test(with_settings(preset=str(preset)))]

    assert levels(findings) == [FAIL, OK]
    assert "3 of 3 invented identifiers are left" in text_of(findings)


def test_a_damaged_model_fails(tmp_path):
    model = tmp_path / "english"
    shutil.copytree(files("deid_core") / "tagger/models/english", model)
    with (model / "tables.npz").open("ab") as tables:
        tables.write(b"damaged")
    preset = tmp_path / "mine.toml"
    preset.write_text(
        f'name = "mine"\ndetectors = ["tagger"]\n[tagger]\nmodel = "{model}"\n'
    )

    findings = [*detection.models(with_settings(preset=str(preset)))]

    assert levels(findings) == [FAIL]
    assert "digest" in text_of(findings)


def test_a_list_of_terms_that_is_not_there_fails(tmp_path):
    terms = TermFiles(keep=(str(tmp_path / "none.txt"),))
    findings = [*detection.self_test(with_settings(preset="lexical", terms=terms))]

    assert levels(findings) == [FAIL]
    assert "none.txt: cannot be read" in text_of(findings)


@pytest.mark.parametrize("change", [{"preset": "nonesuch"}, {"policy": "nonesuch"}])
def test_an_unknown_preset_or_policy_fails(change):
    assert levels(detection.models(with_settings(**change))) == [FAIL]


def test_a_policy_that_needs_a_key_fails_without_one():
    findings = [*detection.self_test(with_settings(policy="surrogate"))]

    assert levels(findings) == [FAIL]


# --- keys


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "k"
    file.write_text(os.urandom(32).hex())
    file.chmod(0o600)
    return file


def test_a_private_random_key_is_fine_and_not_shown(key_file):
    findings = [*keys.key(with_settings(pseudonym_key_file=key_file))]

    assert levels(findings) == [OK, OK]
    assert key_file.read_text()[:8] not in text_of(findings)


@pytest.mark.parametrize(
    ("mode", "level"),
    [(0o644, FAIL), (0o602, FAIL), (0o620, FAIL), (0o640, WARN), (0o400, OK)],
)
def test_a_key_that_others_can_read_or_change_is_reported(key_file, mode, level):
    key_file.chmod(mode)

    found = levels(keys.key(with_settings(pseudonym_key_file=key_file)))

    assert ([FAIL] if level is FAIL else [OK, level]) == found


def test_a_private_key_beside_the_public_one_is_reported(tmp_path):
    make_pair(tmp_path / "office.key")
    public = tmp_path / "office.key.pub"
    settings = with_settings(dead_letter_key_file=public)

    assert levels(keys.office_key(settings)) == [OK, WARN]
    (tmp_path / "office.key").rename(tmp_path / "elsewhere")
    assert levels(keys.office_key(settings)) == [OK]
    public.write_bytes((tmp_path / "elsewhere").read_bytes())
    assert levels(keys.office_key(settings)) == [FAIL]
    assert levels(keys.office_key(with_settings())) == [FAIL]


def test_dead_letters_that_are_kept_longer_than_their_source_are_reported():
    def found(own, source):
        seen = {
            DEAD_LETTERS.name: SeenTopic(1, 1, config={"retention.ms": own}),
            NOTES.name: SeenTopic(1, 1, config={"retention.ms": source}),
            HL7_RAW.name: SeenTopic(1, 1, config={"retention.ms": "-1"}),
        }
        return levels(judge_dead_letters(seen))

    assert found("100", "100") == []
    assert found("-1", "-1") == []
    assert found("101", "100") == [FAIL]
    assert found("-1", "100") == [FAIL]


def test_a_key_of_another_user_is_reported(key_file):
    [finding] = keys.judge_file(
        SimpleNamespace(st_mode=0o100600, st_uid=77), key_file, user=1000
    )

    assert WARN is finding.level


@pytest.mark.parametrize("content", ["short", "k" * 40])
def test_a_short_or_a_dull_key_fails(key_file, content):
    key_file.write_text(content)

    findings = [*keys.key(with_settings(pseudonym_key_file=key_file))]

    assert FAIL is findings[0].level
    assert content not in text_of(findings)


def test_no_key_fails():
    assert levels(keys.key(with_settings())) == [FAIL]


def test_a_key_that_differs_from_that_of_the_newest_notes_is_reported():
    notes = [record(NOTES_SCRUBBED, {"key_id": "0a0a0a0a"})]

    assert OK is keys.judge_key_id(["0a0a0a0a"], keys.key_ids(notes)).level
    assert WARN is keys.judge_key_id(["0b0b0b0b"], keys.key_ids(notes)).level
    assert OK is keys.judge_key_id(["0b0b0b0b"], keys.key_ids([])).level


# --- disk


def test_a_state_dir_that_can_be_written_is_fine_and_left_as_it_was(tmp_path):
    folder = tmp_path / "not/there/yet"

    findings = [*disk.state_dir(with_settings(state_dir=folder))]

    assert {OK} == {*levels(findings[1:])}
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("folder", ["/proc/phistream", "{tmp}/file"])
def test_a_state_dir_that_can_not_be_written_fails(tmp_path, folder):
    (tmp_path / "file").touch()
    settings = with_settings(state_dir=folder.format(tmp=tmp_path))

    assert FAIL is [*disk.state_dir(settings)][-1].level


def test_a_store_that_gives_back_something_else_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "written_and_read", lambda _folder: b"other")

    assert FAIL is disk.probe(tmp_path, tmp_path).level


@pytest.mark.parametrize(
    ("free", "level"), [(10**11, OK), (10**9, WARN), (10**8, FAIL), (0, FAIL)]
)
def test_little_space_is_reported(free, level):
    assert level is disk.judge_space(free).level


def test_folders_that_others_can_read_are_reported_with_what_to_do(tmp_path):
    inner = tmp_path / "state" / "group" / "scrub-0" / "patients-0"
    private_folder(inner)
    (inner / "000008.sst").touch(0o600)
    settings = with_settings(state_dir=tmp_path / "state", broker_dir=tmp_path / "no")
    assert levels([*disk.private_folders(settings)]) == [OK]

    for path, mode in ((inner / "000008.sst", 0o640), (inner, 0o701)):
        before = path.stat().st_mode
        path.chmod(mode)
        [found] = disk.private_folders(settings)
        assert WARN is found.level
        assert f"{path} has mode {mode:04o}" in found.seen
        assert "chmod -R go=" in found.todo
        path.chmod(before)


def test_folders_of_another_user_are_reported(tmp_path, monkeypatch):
    """Those of root are not: what is mounted belongs to it."""
    private_folder(tmp_path / "state" / "group")
    owned = tmp_path.stat()

    def files_of(user):
        seen = SimpleNamespace(st_mode=owned.st_mode, st_uid=user)
        return lambda _folder: [(tmp_path, seen)]

    monkeypatch.setattr(disk, "_files", files_of(1002))
    found = disk.judge_privacy(tmp_path, 1001)
    assert WARN is found.level
    assert "belongs to user 1002, not to 1001" in found.seen
    assert "chown -R 1001" in found.todo

    monkeypatch.setattr(disk, "_files", files_of(0))
    assert OK is disk.judge_privacy(tmp_path, 1001).level


# --- clocks, groups, ports


@pytest.mark.parametrize(
    ("stamp", "level", "word"),
    [
        (100.05, OK, "within"),
        (98.5, OK, "within 1.5 s"),
        (95.0, WARN, "5 s behind"),
        (110.1, WARN, "10 s ahead"),
        (3700.1, FAIL, "3,600 s ahead"),
        (None, WARN, "unknown"),
    ],
)
def test_the_brokers_time_must_lie_between_asking_and_answer(stamp, level, word):
    finding = clocks.judge_clock(100.0, stamp, 100.1)

    assert level is finding.level
    assert word in finding.seen


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({}, OK),
        ({"members": 0, "state": "EMPTY"}, WARN),
        ({"state": "PREPARING_REBALANCING"}, WARN),
        ({"members": 7}, WARN),
        ({"behind": 12, "is_drained": False}, OK),
    ],
)
def test_a_group_without_enough_workers_is_reported(changes, level):
    group = {
        "stage": "scrub",
        "state": "STABLE",
        "members": 2,
        "partitions": 6,
        "behind": 1,
        "is_drained": True,
    }

    assert level is groups.judge_group(groups.SeenGroup(**(group | changes))).level


@pytest.fixture
def served():
    """A server that shows a page of metrics, and the text of that page."""
    page = [b"phistream_notes_total 3\n"]

    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(page[0])

        def log_message(self, *_arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Metrics)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port, page
    server.shutdown()
    thread.join()
    server.server_close()


def port_findings(port):
    return [*ports.metrics_ports(with_settings(metrics_port=port))]


def test_no_port_and_a_free_port_are_fine():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        free = each.getsockname()[1]

    assert levels(port_findings(0)) == [OK]
    assert levels(port_findings(free)) == [OK]


def test_a_port_on_which_ours_answers_is_fine_and_another_program_is_reported(served):
    port, page = served

    assert levels(port_findings(port)) == [OK]
    page[0] = b"other_total 3\n"
    assert levels(port_findings(port)) == [WARN]
