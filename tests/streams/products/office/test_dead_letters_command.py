"""What the commands on dead letters show, and refuse before they read anything."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from streams.cli.app import app
from streams.engine.keys.office import make_pair
from streams.engine.records import Partition, Record
from streams.kafka.wire_format import header
from streams.products.office.dead_letters_command import _print_original, _shown, masked

MESSAGE = "MSH|^~\\&|ZZLAB|NORTH\nPID|1||48291^^^Zürich||Øst^Mabelle||19520314\nZZ Joe"


def test_a_masked_message_keeps_its_shape_and_no_value():
    assert masked(MESSAGE) == (
        "MSH|^~\\&|xxxxx|xxxxx\nPID|9||99999^^^xxxxxx||xxx^xxxxxxx||99999999\nxx xxx"
    )
    # Of what is no message not even three capitals at the start of a line.
    assert masked("JOE|5 "[:4] + "x") == "xxx|x"


@pytest.mark.parametrize("is_masked", [True, False])
def test_what_is_shown_can_not_change_a_terminal(is_masked):
    shown = _shown(b"a\x1b[2Jb\rc\x00\xff\xc2\x9b", is_masked=is_masked)

    assert not [each for each in shown if not each.isprintable() and each != "\n"]


def test_of_an_original_in_the_wire_format_the_id_is_named(capsys):
    event = b'{"text": "zzJoe"}'
    original = Record(Partition("hl7.raw", 0), 1, None, header(77) + event)

    _print_original(original, is_masked=True)

    assert "schema    77 (id in a schema registry)\n" in (
        shown := capsys.readouterr().out
    )
    assert '{"xxxx": "xxxxx"}' in shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "notes/0/1"], "a place is"),
        (["show", "dead.letters/0/1", "--reveal"], "--reveal needs --private-key"),
        (["list", "--code", "nonsense"], "unknown: nonsense; known: bad_json"),
        (["list", "--topic", "patients"], "known: hl7.raw"),
        (["replay"], "name places or filters, or --all"),
        (["replay", "--all", "--code", "schema"], "name places or filters"),
        (["replay", "--all"], "the originals are sealed"),
    ],
)
def test_wrong_usage_is_refused(arguments, says):
    done = CliRunner().invoke(app, ["dead-letters", *arguments])

    assert done.exit_code == 2
    assert says in " ".join(done.output.replace("│", " ").split())


def test_a_pair_is_made_and_says_what_to_set(tmp_path):
    file = tmp_path / "office.key"
    done = CliRunner().invoke(app, ["keys", "pair", str(file), "--passphrase"],
                              input="ZZPASS\nZZPASS\n")  # fmt: skip

    assert done.exit_code == 0
    assert f"dead_letter_key_file = {file}.pub" in done.output
    assert "ENCRYPTED" in file.read_text()
    assert "ZZPASS" not in done.output


def test_a_pair_is_never_overwritten(tmp_path):
    make_pair(tmp_path / "k")
    before = (tmp_path / "k").read_bytes()

    done = CliRunner().invoke(app, ["keys", "pair", str(tmp_path / "k")])

    assert done.exit_code != 0
    assert before == (tmp_path / "k").read_bytes()
