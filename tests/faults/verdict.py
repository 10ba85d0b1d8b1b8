"""Whether a run is sound: its audit, and whether its faults hit anything at all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

NOTHING_HIT = "no transaction was hit: no aborted record"


@dataclass(slots=True)
class Seen:
    """What a run shows besides its topics.

    Args:
        injected: What was done, and how often.
        effects: What it was seen to do, and how often.
        exits: Statuses of services that ended by themselves.
        letters: Dead letters that its faults explain, by stage and code.
        must_abort: Whether its faults have to hit transactions.
    """

    injected: Counter = field(default_factory=Counter)
    effects: Counter = field(default_factory=Counter)
    exits: Counter = field(default_factory=Counter)
    letters: Counter = field(default_factory=Counter)
    must_abort: bool = True


def judge(found, seen, scenario):
    """Return what is wrong with a run besides the counts of its audit.

    Args:
        found: The `Audit`.
        seen: What else the run showed.
        scenario: Names its effects, and the statuses that services may end with.
    """
    wrong = []
    letters = {
        place: count
        for place, count in found.letters.items()
        if seen.letters[place] != count
    }
    if letters:
        wrong.append(f"dead letters that no fault explains: {letters}")
    if lacking := +seen.letters - found.letters:
        wrong.append(f"dead letters that are not there: {dict(lacking)}")
    exits = {s: n for s, n in seen.exits.items() if n and s not in scenario.exits}
    if exits:
        wrong.append(f"services ended with statuses that no fault explains: {exits}")
    if not seen.injected.total():
        wrong.append("nothing was injected")
    wrong += [
        f"the fault hit nothing: {effect}: 0"
        for effect in scenario.effects
        if not seen.effects[effect]
    ]
    if seen.must_abort and not found.aborted:
        wrong.append(NOTHING_HIT)
    return wrong
