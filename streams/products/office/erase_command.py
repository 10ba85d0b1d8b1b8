"""`phistream erase`: what is held of a patient, and its erasure."""

from __future__ import annotations

import os
import pwd
import re
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console

from streams.cli.explain_text import counted
from streams.cli.options import Bootstrap, Config, Json
from streams.cli.terminal import (
    confirm,
    counting,
    print_json,
    require_terminal,
    say,
    show_table,
)
from streams.engine.errors import InvalidRecord
from streams.kafka.client import wait_for_broker
from streams.kafka.tables.table import KEPT_SECONDS, UNUSED_SECONDS
from streams.kafka.topic_admin import require_topics
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
    Topic,
)
from streams.model.patients.demographics import PatientId
from streams.operations.settings import Settings, load_settings
from streams.products.office.erasure import Erased, Erasure, Found, kept_by
from streams.products.office.naming import SURE_LENGTH, is_sure
from streams.products.office.null_values import NullValues

TOPICS = (
    HL7_RAW, NOTES, PATIENT_UPDATES, PATIENTS, NOTES_HELD, DEAD_LETTERS,
    NOTES_SCRUBBED, HL7_SCRUBBED, PHI_AUDIT,
)  # fmt: skip
REASON = re.compile(r"[A-Za-z0-9._/-]{1,64}")
NOT_FOR_ACTORS = re.compile(r"[^A-Za-z0-9._@-]")


def _check_reason(reason: str | None) -> str | None:
    if reason is not None and not REASON.fullmatch(reason):
        raise typer.BadParameter(
            "1 to 64 letters, digits and . _ / - such as the number of the request; "
            "it is in the audit events, so it must not name the patient"
        )
    return reason


def erase(
    patients: Annotated[
        list[str],
        typer.Argument(
            metavar="PATIENT...",
            help="ID^^^AUTHORITY as in PID-3, or - to read such lines from standard "
            "input: others may see a command line.",
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be erased.")
    ] = False,
    reason: Annotated[
        str | None,
        typer.Option(
            callback=_check_reason,
            help="Number of the request, for the audit events; no name.",
        ),
    ] = None,
    sure: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Also publish null values under the patient's pseudonyms, by which "
            "phistream lake deletes its rows; needs the pseudonym keys.",
        ),
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds to wait for scrub.")
    ] = 120.0,
    config: Config = None,
    bootstrap: Bootstrap = None,
    as_json: Json = False,
) -> None:
    """Erase a patient, with all linked identifiers; print what remains, and until when.

    Exits 1 if nothing is known of the patient, or if something is not erased yet.
    Nothing is written before scrub has read all that waits for it.
    """
    if reason is None and not dry_run:
        raise typer.BadParameter("--reason is missing: the audit events need it")
    settings = load_settings(config, {"bootstrap": bootstrap})
    null_values = NullValues(settings) if published else None
    asked = list(_patients(patients, asks=not (sure or dry_run)))
    for _ in (
        each for each in asked if not is_sure(each) and not each.assigning_authority
    ):
        say(
            f"an identifier has fewer than {SURE_LENGTH} characters and no authority: "
            "dead letters are found by it in fields of HL7 and JSON alone; name the "
            "authority if there is one"
        )
    wait_for_broker(settings)
    require_topics(settings, [topic.name for topic in TOPICS])
    with counting("records read") as bar:
        task = bar.add_task("erase", total=None, count=0)

        def show(_step: str, count: int) -> None:
            bar.update(task, count=count)

        erasure = Erasure(settings, asked, show, null_values)
        found = erasure.find()
    if found.is_unknown and not published:
        say(
            "nothing is known of this patient: check number and authority; hl7.raw "
            "is not searched"
        )
        raise typer.Exit(1)
    done: Erased | None = None
    if not dry_run:
        if not sure and (published or not found.is_empty):
            question = f"{_sentence(found)}: erase it for good?"
            confirm(question, is_read="-" in patients)
        done = erasure.erase(
            found,
            actor=_actor(),
            reason=reason or "",
            seconds=wait,
            at_ms=int(time.time() * 1000),
        )
    left = done.left if done else found
    rows = _remaining(settings, left, is_dry=dry_run, is_published=published)
    if as_json:
        print_json(_as_json(found, done, rows))
    else:
        _show(found, done, rows, is_dry=dry_run)
    raise typer.Exit(0 if done is None or done.is_done else 1)


def _patients(given: list[str], *, asks: bool) -> Iterator[PatientId]:
    if asks and "-" in given:
        require_terminal("the numbers come from standard input: say --yes")
    for argument in given:
        if argument != "-":
            yield _patient(argument, "a patient")
            continue
        for number, line in enumerate(sys.stdin.read().splitlines(), start=1):
            if line.strip():
                yield _patient(line, f"line {number}: a patient")


def _patient(text: str, place: str) -> PatientId:
    number, *rest = text.strip().split("^")
    is_cx = not rest or (len(rest) == 3 and not rest[0] and not rest[1])  # CX.4
    # No number has them, and JSON does: it would be taken for an unknown number.
    if not is_cx or any(sign in number for sign in '{}[]"'):
        raise typer.BadParameter(f"{place} is ID^^^AUTHORITY, or ID alone")
    try:
        return PatientId(rest[-1] if rest else "", number)
    except InvalidRecord:
        raise typer.BadParameter(f"{place}'s ID is empty") from None


def _actor() -> str:
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = str(os.getuid())
    return NOT_FOR_ACTORS.sub("_", name)[:64]


def _sentence(found: Found) -> str:
    counts = (
        counted(found.identifiers, "identifier"),
        f"{counted(len(found.rows), 'row')} of {PATIENTS.name}",
        counted(len(found.held), "held note"),
        counted(len(found.letters), "dead letter"),
        f"{counted(len(found.updates), 'update')} that scrub has not read",
    )
    return ", ".join(counts)


def _remaining(
    settings: Settings, left: Found, *, is_dry: bool, is_published: bool
) -> list[dict[str, str]]:
    """Return what remains by place: what it is, and until when."""
    kept = kept_by(settings, TOPICS)
    now = time.time() * 1000

    def at(since_ms: float) -> str:
        return datetime.fromtimestamp(since_ms / 1000, UTC).isoformat(
            timespec="minutes"
        )

    def until(topic: Topic, since_ms: float = now) -> str:
        retention = kept[topic.name].retention
        return "for ever" if retention is None else at(since_ms + retention)

    def merged(topic: Topic) -> str:
        lag = kept[topic.name].compaction
        if lag is None:
            return until(topic)
        found = f"{lag / 3_600_000:.3g} h after the next record of the partition"
        is_bounded = kept[topic.name].retention is not None
        return f"{found}, or {until(topic)}" if is_bounded else found

    old = (
        "old bytes until compaction" if is_dry else "erased; old bytes until compaction"
    )
    of_patient = [
        (
            topic.name,
            f"{count} records under the patient's keys",
            until(topic, last) if last > 0 else "",
        )
        for topic in (NOTES, PATIENT_UPDATES)
        for count, last in [left.raw[topic.name]]
    ]
    letters = [(DEAD_LETTERS.name, old, merged(DEAD_LETTERS))]
    for count, what in (
        (
            left.unjudged,
            "could not be judged: their source is gone, or a short identifier is in "
            "what is neither HL7 nor JSON",
        ),
    ):
        if count:
            text = f"{count} letters that {what}"
            letters.append((DEAD_LETTERS.name, text, until(DEAD_LETTERS)))
    unused = now + (KEPT_SECONDS + 2 * UNUSED_SECONDS) * 1000
    rows = (
        (HL7_RAW.name, "messages as they came, not searched", until(HL7_RAW)),
        *of_patient,
        (
            PATIENTS.name,
            f"{old}; the keys as tombstones for 7 days more",
            merged(PATIENTS),
        ),
        (NOTES_HELD.name, "the same", merged(NOTES_HELD)),
        *letters,
        (
            "tables in state_dir",
            "files of owners and copies are merged; tables of gigabytes take longer",
            at(now + 60_000),
        ),
        (
            f"{settings.group}/SLOT/{PATIENTS.name}-N in state_dir",
            "of former owners, on any host: deleted while the service runs there",
            at(unused),
        ),
        (
            f"{NOTES_SCRUBBED.name}, {HL7_SCRUBBED.name}",
            "pseudonyms and scrubbed texts; with subscribers as long as they keep them",
            until(NOTES_SCRUBBED),
        ),
        (PHI_AUDIT.name, "pseudonyms, no text", until(PHI_AUDIT)),
        (
            "tables of phistream lake",
            "rows go by the null values; old files as [lake] says (runbook, The lake)"
            if is_published
            else "rows of pseudonyms: --published erases them",
            "",
        ),
        ("backups, sender's systems", "not reached by this command", ""),
    )
    return [{"where": a, "what": b, "until": c} for a, b, c in rows]


def _show(
    found: Found, done: Erased | None, rows: list[dict[str, str]], *, is_dry: bool
) -> None:
    console = Console()
    if done is None or not done.counts:
        verb = "would be erased" if is_dry and not found.is_empty else "found"
        console.print(f"{verb}: {_sentence(found)}", highlight=False)
    else:
        gone = ", ".join(f"{count} {what}" for what, count in done.counts.items())
        console.print(f"erased: {gone}", highlight=False)
    if done is not None:
        for line in _problems(done):
            say(line)
    show_table(
        ("remains in", "what", "until, at the latest"),
        [tuple(each.values()) for each in rows],
    )


def _problems(done: Erased) -> Iterator[str]:
    if done.refusal:
        yield (
            f"nothing was erased: scrub {done.refusal}, and notes that it has not read "
            "would go out without the patient's names; start scrub, then run it again"
        )
    elif not done.is_carried_out:
        yield "published, but scrub has not read it: start scrub, then run it again"
    elif not done.left.is_empty:
        yield f"came back, {_sentence(done.left)}: is the patient sent again?"
    if done.late:
        yield (
            f"{done.late} notes of the patient were published meanwhile, and may have "
            "been handled as those of an unknown patient: is the patient sent again?"
        )
    if done.left.unjudged:
        yield (
            f"{done.left.unjudged} dead letters could not be judged, and may name the "
            "patient: look at them (phistream dead-letters show), or wait until their "
            "retention ends"
        )


def _as_json(
    found: Found, done: Erased | None, rows: list[dict[str, str]]
) -> dict[str, object]:
    return {
        "found": {
            "identifiers": found.identifiers,
            "rows": len(found.rows),
            "held": len(found.held),
            "letters": len(found.letters),
            "updates": len(found.updates),
            "unjudged": found.unjudged,
        },
        "refusal": done.refusal if done else "",
        "late": done.late if done else 0,
        "erased": dict(done.counts) if done else {},
        "carried_out": done is not None and done.is_carried_out,
        "left": not (done.is_done if done else found.is_empty),
        "remains": rows,
    }
