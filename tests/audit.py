"""Audit of what phistream depends on: `make audit`, or python -m tests.audit TOOLS.

Licences of all locked packages against deploy/licences.toml; an SBOM of the image's
packages by CycloneDX; known vulnerabilities by pip-audit, if its database answers.  The
tools are those of the dependency group `audit`, in a virtual environment of their own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "deploy/locks"
LOCK, RUNTIME = LOCKS / "spark.lock", LOCKS / "image.lock"
RULES = ROOT / "deploy/licences.toml"
SBOM = ROOT / "build/sbom.cdx.json"
SECONDS = 600
_LOCKED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9_.-]*)==", re.MULTILINE)
_OPERATOR = re.compile(r"\s+(?:AND|OR)\s+|[()]", re.IGNORECASE)


def locked(lock=LOCK):
    """Return the names of the packages of a lock file."""
    return sorted({each.lower() for each in _LOCKED.findall(lock.read_text("utf-8"))})


def licences_of(about, names):
    """Return the licences that the metadata of a package names; none if it says none.

    Args:
        about: The metadata.
        names: The SPDX identifier of other names.
    """
    classified = [
        each.rpartition(" :: ")[2]
        for each in about.get_all("Classifier") or ()
        if each.startswith("License ::") and each.count(" :: ") > 1
    ]
    text = (about.get("License") or "").strip()
    said = [about["License-Expression"]] if about.get("License-Expression") else []
    said = said or classified or ([text] if text and "\n" not in text else [])
    parts = (
        part.strip()
        for each in said
        for part in ([each] if each in names else _OPERATOR.split(each))
    )
    return {names.get(part, part) for part in parts if part}


def refused_licences(packages, rules):
    """Return what is wrong, by package; and the number of packages by licence.

    Args:
        packages: Their names; those that this platform does not need are left out.
        rules: The content of deploy/licences.toml.
    """
    refused, seen = {}, Counter()
    for name in packages:
        exception = rules["packages"].get(name)
        if exception is not None:
            seen[exception["licence"]] += 1
            continue
        try:
            found = licences_of(metadata.metadata(name), rules["names"])
        except metadata.PackageNotFoundError:
            seen["(not installed here)"] += 1
            continue
        foreign = sorted(found - {*rules["allowed"]})
        if foreign or not found:
            refused[name] = ", ".join(foreign) or "says no licence"
        seen[" AND ".join(sorted(found))] += 1
    return refused, seen


def vulnerabilities_in(report):
    """Return the findings and the unchecked packages of pip-audit's report in JSON."""
    packages = json.loads(report)["dependencies"]
    found = [
        f"{each['name']} {each['version']}: {one['id']}, fixed in "
        f"{', '.join(one['fix_versions']) or 'no version'}"
        for each in packages
        for one in each.get("vulns", ())
    ]
    return found, [each["name"] for each in packages if "skip_reason" in each]


def audit_vulnerabilities(tools):
    """Return what pip-audit found, or the reason why it could not look."""
    command = [
        *(str(tools / "pip-audit"), "--vulnerability-service", "osv"),
        *("--format", "json", "--progress-spinner", "off", "--timeout", "20"),
        *("--require-hashes", "--disable-pip", "--requirement", str(LOCK)),
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        found, unchecked = vulnerabilities_in(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], f"pip-audit did not run ({type(error).__name__})"
    except (ValueError, KeyError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return [], f"pip-audit gave no report: {last}"
    return found, f"{len(unchecked)} packages unknown there" if unchecked else ""


def write_sbom(tools, target=SBOM):
    """Write the SBOM of the image's packages; return the number of its components."""
    target.parent.mkdir(exist_ok=True)
    command = [
        *(str(tools / "cyclonedx-py"), "requirements", "--output-reproducible"),
        *("--pyproject", str(ROOT / "pyproject.toml"), "--spec-version", "1.6"),
        *("--output-file", str(target), str(RUNTIME)),
    ]
    subprocess.run(command, check=True, timeout=SECONDS, stderr=subprocess.PIPE)
    return len(json.loads(target.read_text("utf-8"))["components"])


def main(tools):
    rules = tomllib.loads(RULES.read_text("utf-8"))
    packages = locked()
    refused, seen = refused_licences(packages, rules)
    print(f"licences of {len(packages)} locked packages:")
    for licence, count in seen.most_common():
        print(f"  {count:4} {licence}")
    for name, why in refused.items():
        print(f"refused: {name}: {why}")
    components = write_sbom(tools)
    print(f"SBOM (CycloneDX 1.6) of {components} packages: {SBOM.relative_to(ROOT)}")
    found, reason = audit_vulnerabilities(tools)
    for each in found:
        print(f"vulnerable: {each}")
    if reason:
        print(f"vulnerabilities: NOT all checked: {reason}")
    else:
        print(f"vulnerabilities: {len(found)} known")
    raise SystemExit(1 if refused or found else 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
