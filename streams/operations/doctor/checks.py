"""The table of all checks, and their execution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from streams.engine.errors import StreamError

from . import (
    broker,
    clocks,
    detection,
    disk,
    groups,
    keys,
    ports,
    registry,
    setup,
    topics,
    values,
)
from .context import CheckContext
from .finding import Finding, Level, fail, warn, worst


@dataclass(frozen=True, slots=True)
class Check:
    """One check.  It changes nothing but a probe of its own, which it removes.

    Args:
        name: Shown to people and in JSON.
        run: Returns the findings.
        needs: The checks that must have passed.
    """

    name: str
    run: Callable[[CheckContext], Iterable[Finding]]
    needs: tuple[str, ...] = ()


_SETTINGS = ("configuration",)
_CLIENT = ("configuration", "client")
_BROKER = (*_CLIENT, "broker")

CHECKS = (
    Check("python", setup.python),
    Check("configuration", setup.configuration),
    Check("client", setup.client_properties, _SETTINGS),
    Check("broker", broker.broker, _CLIENT),
    Check("features", broker.features, _BROKER),
    Check("limits", broker.limits, _BROKER),
    Check("topics", topics.topics, _BROKER),
    Check("internal topics", topics.internal_topics, _BROKER),
    Check("schemas", values.schemas),
    Check("schema registry", registry.registry, _SETTINGS),
    Check("newest values", values.newest_values, (*_BROKER, "schemas")),
    Check("models", detection.models, _SETTINGS),
    Check("self-test", detection.self_test, (*_SETTINGS, "models")),
    Check("key", keys.key, _SETTINGS),
    Check("office key", keys.office_key, _SETTINGS),
    Check("key in use", keys.key_in_use, (*_BROKER, "key")),
    Check("state dir", disk.state_dir, _SETTINGS),
    Check("private folders", disk.private_folders, _SETTINGS),
    Check("clocks", clocks.clocks, _BROKER),
    Check("groups", groups.groups, _BROKER),
    Check("ports", ports.metrics_ports, _SETTINGS),
)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check and its findings."""

    check: str
    findings: tuple[Finding, ...]
    failed_need: str = ""
    """The failed check because of which this one was not run."""


def run_checks(
    context: CheckContext, checks: Sequence[Check] = CHECKS
) -> Iterator[CheckResult]:
    """Run the checks in order, except those that need a failed one."""
    failed: set[str] = set()
    for check in checks:
        failed_need = next((name for name in check.needs if name in failed), "")
        findings = _not_run(failed_need) if failed_need else _run(check, context)
        if failed_need or worst(findings) is Level.FAIL:
            failed.add(check.name)
        yield CheckResult(check.name, findings, failed_need)


def _run(check: Check, context: CheckContext) -> tuple[Finding, ...]:
    found: list[Finding] = []
    try:
        found += check.run(context)
    except StreamError as error:
        found.append(fail(str(error), "see deploy/runbook.md"))
    except Exception as error:
        # Its message may hold a value.
        found.append(fail(type(error).__name__, "the check itself failed: report it"))
    return tuple(found)


def _not_run(needed: str) -> tuple[Finding, ...]:
    return (warn(f"not checked: {needed} failed", f"fix {needed} first"),)
