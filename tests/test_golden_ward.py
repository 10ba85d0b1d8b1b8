"""The golden ward repeats itself, and shows what differs without its contents."""

from __future__ import annotations

import pytest

from tests.benchmarks import golden_ward


@pytest.fixture(scope="module")
def messages():
    return [*golden_ward._of_the_ward()][:20]


def digests(messages, policy="surrogate"):
    service = golden_ward._Service(policy, "scrub")
    return [golden_ward._digests(*output) for output in service.outputs(messages)]


def test_the_stages_give_the_same_bytes_again(messages):
    first = digests(messages)

    assert len(first) > 3 * len(messages)
    assert digests(messages) == first


def test_a_changed_output_is_shown_by_message_number_alone(messages, capsys):
    before = digests(messages)
    now = digests(messages, "safe-harbor")

    assert not golden_ward._compared("topic", before, now)
    assert capsys.readouterr().out.startswith("topic: ")
    assert golden_ward._compared("topic", before, before)


def test_versions_alone_are_told_from_other_changes(capsys):
    before = [(3, "key", "headers", "value", "rest"), (4, "k", "h", "v", "r")]
    now = [(3, "key", "other", "other", "rest"), (4, "k", "h", "v", "r")]

    golden_ward._compared("topic", before, now)

    shown = " ".join(capsys.readouterr().out.split())
    assert shown == (
        "topic: 1 of 2 differ, 0 other than in versions; "
        "{'headers': 1, 'value': 1}; messages 3"
    )


def test_an_output_that_is_missing_differs(capsys):
    now = [(3, "key", "headers", "value", "rest")]

    assert not golden_ward._compared("topic", [], now)
    assert "1 of 1 differ, 1 other than in versions" in capsys.readouterr().out
