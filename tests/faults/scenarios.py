"""The scenarios: every row of what a stream of notes has to survive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module


@dataclass(frozen=True, slots=True)
class Scenario:
    """A named fault.

    Args:
        name: In kebab case.
        play: Does it to a `Run`.
        brokers: How many the cluster needs; 0 if any number will do.
        fresh: Whether it needs a cluster of its own.
        prepare: Called with a cluster of its own before it starts.
        settings: Changes of the services' settings.
        exits: Statuses that services may end with; any other is wrong.
        effects: What it has to be seen to do.  Those with a regular expression are
            looked for in the services' logs, the others are counted by `Run.effect`.
    """

    name: str
    play: Callable
    brokers: int = 0
    fresh: bool = False
    prepare: Callable = lambda _cluster: None
    settings: dict = field(default_factory=dict)
    exits: tuple[int, ...] = ()
    effects: dict[str, str] = field(default_factory=dict)


MODULES = (
    "processes", "steps", "brokers", "network", "inputs", "operators", "storage",
    "upgrades", "mixed",
)  # fmt: skip
SCENARIOS: dict[str, Scenario] = {}


def load_scenarios():
    """Return all scenarios by name."""
    for name in MODULES:
        import_module(f"tests.faults.{name}")
    return SCENARIOS


def scenario(*, settings=None, effects=None, **options):
    """Register a function under its name; its docstring says what it does."""

    def register(play):
        name = play.__name__.replace("_", "-")
        SCENARIOS[name] = Scenario(
            name, play, settings=settings or {}, effects=effects or {}, **options
        )
        return play

    return register


def faults_of(run, most):
    """Return how many faults a run of this size has room for."""
    return max(2, min(most, run.notes // 150))
