"""Kustomizations as Kubernetes gets them, and as far as they can be read without it."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import yaml

from tests.deploy.promql import DEPLOY

KUBERNETES = DEPLOY / "kubernetes"
KNOWN = {
    "apiVersion", "kind", "resources", "components", "labels", "images", "namespace",
    "configMapGenerator", "patches",
}  # fmt: skip


def documents(text):
    return [each for each in yaml.safe_load_all(text) if each]


def files_of(folder):
    """Return the resources that a kustomization names, those of its bases included."""
    root = yaml.safe_load((folder / "kustomization.yaml").read_text("utf-8"))
    assert set(root) <= KNOWN, folder
    found = []
    for named in (*root.get("resources", ()), *root.get("components", ())):
        path = (folder / named).resolve()
        assert path.is_relative_to(KUBERNETES.resolve()), named
        if path.is_dir():
            found += files_of(path)
        else:
            found += documents(path.read_text("utf-8"))
    for generator in root.get("configMapGenerator", ()):
        for name in generator["files"]:
            assert (folder / name).is_file(), name
    return found


def patches_of(folder):
    """Yield what each patch of a kustomization and its components changes."""
    root = yaml.safe_load((folder / "kustomization.yaml").read_text("utf-8"))
    for each in root.get("patches", ()):
        content = yaml.safe_load(each["patch"])
        if "target" in each:
            yield each["target"]["kind"], each["target"]["name"]
        else:
            yield content["kind"], content["metadata"]["name"]


def built(folder):
    """Return what `kustomize build` makes of a folder; skip where there is no such."""
    if program := shutil.which("kustomize"):
        command = [program, "build"]
    elif program := shutil.which("kubectl"):
        command = [program, "kustomize"]
    else:
        pytest.skip("neither kustomize nor kubectl is installed")
    done = subprocess.run([*command, str(folder)], capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr.decode()
    return documents(done.stdout.decode())
