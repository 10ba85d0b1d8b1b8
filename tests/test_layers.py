"""The layers of the code, read from its imports: no layer uses a higher one.

Imports inside functions and those for types alone count as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("deid_core", "streams", "schemas", "phistream")

# Lowest first; the parts of one line may use one another.  A module that is named is of
# another layer than the rest of its folder.
LAYERS = {
    "deid_core": (
        {"errors", "field_types", "labels", "runtime"},
        {"language"},
        {"document", "runtime.first_notes"},
        {"fiction"},
        {"tagger", "merge", "surrogates"},
        {"term_files"},
        {"detectors", "detection", "propagation", "quiet", "spans_in_note", "verify"},
        {"config", "policy"},
        {"replace"},
        {"explain"},
        {"pipeline"},
        {"research", "runtime.prepare", "text"},
    ),
    "streams": (
        {"engine"},
        {"kafka"},
        {"model"},
        {"formats"},
        {"pipeline"},
        {"operations"},
        {"service"},
        {"cli"},
        {"demo"},
        {"products"},
    ),
}


def test_no_layer_imports_a_higher_one():
    wrong = [
        f"{module} imports {used}"
        for package, layers in LAYERS.items()
        for module, used in _edges(package)
        if _height(module, layers) < _height(used, layers)
    ]
    assert wrong == []


def test_every_module_has_a_layer():
    for package, layers in LAYERS.items():
        named = set().union(*layers)
        found = {name.split(".")[1] for name in _modules() if _in(name, package)}
        assert {each for each in named if "." not in each} == found


def test_the_product_never_imports_research():
    wrong = [
        f"{module} imports {used}"
        for module, used in _edges("deid_core")
        if _is_research(used) and not _is_research(module)
    ]
    assert wrong == []


def test_of_the_service_only_demo_and_products_import_research():
    wrong = [
        f"{module} imports {used}"
        for module, used in _all_edges()
        if _in(module, "streams")
        and _is_research(used)
        and module.split(".")[1] not in {"demo", "cli", "products"}
    ]
    assert wrong == []


def test_deid_core_never_imports_the_service():
    wrong = [
        f"{module} imports {used}"
        for module, used in _all_edges()
        if _in(module, "deid_core") and not used.startswith("deid_core")
    ]
    assert wrong == []


def test_the_table_of_products_imports_nothing_of_the_project():
    assert [used for module, used in _all_edges() if module == "streams.products"] == []


def test_no_message_format_imports_another():
    folders = [f"streams.formats.{each}" for each in ("hl7", "fhir", "ccda")]
    wrong = [
        f"{module} imports {used}"
        for module, used in _all_edges()
        for own in folders
        for other in folders
        if own != other
        if module == own or _in(module, own)
        if used == other or _in(used, other)
    ]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle():
    graph: dict[str, set[str]] = {}
    for module, used in _all_edges():
        graph.setdefault(module, set()).add(used)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' -> '.join(error.args[1])}")


def _height(module: str, layers: tuple[set[str], ...]) -> int:
    _, part, *rest = module.split(".")
    names = (f"{part}.{'.'.join(rest)}", part)
    return next(
        height for name in names for height, layer in enumerate(layers) if name in layer
    )


def _is_research(module: str) -> bool:
    return module == "deid_core.research" or module.startswith("deid_core.research.")


def _in(module: str, package: str) -> bool:
    return module.startswith(f"{package}.")


def _edges(package: str) -> list[tuple[str, str]]:
    """Return the imports between modules below a package.

    Not of the table of products, which imports nothing: all may read it.
    """
    return [
        (module, used)
        for module, used in _all_edges()
        if _in(module, package) and _in(used, package) and used != "streams.products"
    ]


@cache
def _all_edges() -> tuple[tuple[str, str], ...]:
    modules = _modules()
    return tuple(
        (module, used)
        for module, path in modules.items()
        for used in sorted({*_imports(module, path)} & modules.keys())
    )


@cache
def _modules() -> dict[str, Path]:
    """Return every module of the packages, and its file."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def _imports(module: str, path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(module, path, node)
            for each in node.names:
                full = f"{base}.{each.name}"
                yield full if full in _modules() else base


def _base(module: str, path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    kept = len(parts) - node.level + (path.name == "__init__.py")
    return ".".join([*parts[:kept], *([node.module] if node.module else [])])
