import pytest
from typer.testing import CliRunner

from streams.cli.app import app
from streams.kafka.acls import Grant, grants
from streams.kafka.topics import ALL_TOPICS, TOPICS_OF

OFFICE = "privacy-office"


GRANTED = [
    (
        "hl7.raw",
        {"sender", "mllp", OFFICE},
        {"intake", "watch", "operator", "erasure"},
    ),
    ("messages.seen", {"intake"}, {"intake", "operator"}),
    (
        "notes",
        {"intake", "scrub", OFFICE},
        {"scrub", "watch", "operator", "erasure", "rescrub"},
    ),
    ("notes.held", {"scrub"}, {"scrub", "operator", "erasure"}),
    (
        "patient.updates",
        {"intake", "feeder", "scrub", "operator", "erasure", OFFICE},
        {"scrub", "watch", "operator", "erasure", "rescrub"},
    ),
    (
        "patients",
        {"scrub"},
        {"scrub", "operator", "erasure", "rescrub"},
    ),
    (
        "notes.scrubbed",
        {"scrub", "erasure"},
        {"subscriber", "operator", "lake"},
    ),
    (
        "dead.letters",
        {"intake", "scrub", "erasure", "rescrub"},
        {"watch", "operator", "erasure", "rescrub", OFFICE},
    ),
    ("dead.letters.replayed", {OFFICE}, {"operator", OFFICE}),
    (
        "phi.audit",
        {"intake", "scrub", "erasure", OFFICE},
        {"watch", "operator", "intake", "scrub", "lake", "rescrub"},
    ),
    (
        "hl7.scrubbed",
        {"scrub", "erasure"},
        {"subscriber", "operator", "lake"},
    ),
    ("watch.audit", {"watch"}, {"watch", "operator"}),
    ("watch.dead", {"watch"}, {"watch", "operator"}),
]


def topics_of(service):
    return {
        each.name: set(each.operations)
        for each in grants("house")[service]
        if each.resource == "topic"
    }


def test_each_stage_is_granted_its_topics_and_no_others():
    for service, topics in TOPICS_OF.items():
        assert {topic.name for topic in topics} == {*topics_of(service)}


def test_who_reads_scrubbed_notes_is_granted_nothing_with_identifiers():
    read = {"Read", "Describe"}
    assert topics_of("subscriber") == {"notes.scrubbed": read, "hl7.scrubbed": read}


def test_who_publishes_updates_of_patients_may_read_nothing():
    assert topics_of("feeder") == {"patient.updates": {"Write", "Describe"}}


@pytest.mark.parametrize(("topic", "writers", "readers"), GRANTED)
def test_a_topic_is_written_and_read_by_those_who_need_it(topic, writers, readers):
    def allowed(operation):
        return {s for s in grants("x") if operation in topics_of(s).get(topic, ())}

    assert (writers, readers) == (allowed("Write"), allowed("Read"))


def test_what_is_granted_of_each_topic_is_said_here():
    assert {each.name for each in ALL_TOPICS} == {topic for topic, *_ in GRANTED}


def test_a_grant_is_a_line_of_kafkas_own_tool():
    grant = Grant("transactional-id", "house-scrub-", ("Write",), is_prefix=True)

    assert grant.command("User:s") == (
        "kafka-acls.sh --bootstrap-server HOST:PORT --add --allow-principal User:s "
        "--operation Write --transactional-id house-scrub- "
        "--resource-pattern-type prefixed"
    )
    assert Grant("cluster", "c", ("Describe",)).command("U").endswith(" --cluster")


def test_the_command_prints_all_of_them():
    done = CliRunner().invoke(app, ["topics", "acls", "--principal", "User:ward-"])

    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert sum(map(len, grants("phistream").values())) == sum(
        "User:ward-" in line for line in lines
    )
    assert {f"# {service}" for service in grants("x")} < {*lines}
