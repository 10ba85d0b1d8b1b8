"""The site's parts that are no pages of their own: documents, files, generated parts.

- Documents of the repository (README.md, the runbook, decisions, ...) are pages of the
  site.  There is no copy: a new document or decision appears by itself.
- A file of the repository to which a page links is a page, too, so that every link
  works where there is no network.
- A line ``<!-- generate: NAME -->`` of a page becomes what `reference` makes of the
  code.

Pages link to files by their places in the repository, as on any other reader of
Markdown; the links are rewritten to the site's pages.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = Path(__file__).parent / "pages"

ICON = ROOT / "streams/operations/watch/page/icon.svg"

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "How-to guides": (
        "deploy/runbook.md",
        "deploy/examples/README.md",
        "deploy/*/README.md",
        "CONTRIBUTING.md",
    ),
    "Reference": ("schemas/README.md", "deploy/*.md", "CHANGELOG.md"),
    "Explanation": ("README.md", "SECURITY.md", "deploy/decisions/*.md"),
}
"""The documents of each section; the first pattern that fits decides."""

TITLES: Mapping[str, str] = {
    "README.md": "The README",
    "CONTRIBUTING.md": "Contributing",
    "deploy/examples/README.md": "Readers and feeds",
    "schemas/README.md": "Schemas",
}
"""Titles in the navigation, where the first heading is too long or too short."""

DECISIONS = "Decisions"
IMAGES = {".png", ".svg"}
LANGUAGES = {
    ".json": "json",
    ".md": "markdown",
    ".py": "python",
    ".sh": "sh",
    ".sql": "sql",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
}
LINK = re.compile(
    r"(?<=\]\()(?![a-z]+:|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?(?=\))"
)
CODE = re.compile(
    r"^(?P<fence>`{3,}).*?^(?P=fence)$|`[^`\n]+`", re.DOTALL | re.MULTILINE
)
HEADING = re.compile(r"^(?=#+ )", re.MULTILINE)
GENERATE = re.compile(r"^<!-- generate: (?P<name>[\w-]+) -->$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leave out what depends on the day of the build."""
    # A sitemap names the day, and nothing without the address of the site.
    config.theme.static_templates.discard("sitemap.xml")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents, and all files to which pages link; complete the navigation."""
    sitemap = files.get_file_from_path("sitemap.xml")
    if sitemap is not None:
        files.remove(sitemap)
    for section, paths in documents().items():
        entries = next(each[section] for each in config.nav if section in each)
        for path in paths:
            uri = page_of(path)
            files.append(File.generated(config, uri, content=text_of(path)))
            title = TITLES.get(path)
            entry = {title: uri} if title else uri
            is_decision = path.startswith("deploy/decisions/")
            (_decisions(entries) if is_decision else entries).append(entry)
    files.append(File.generated(config, "assets/icon.svg", abs_src_path=str(ICON)))
    for path in linked_files():
        if Path(path).suffix in IMAGES:
            source = str(ROOT / path)
            files.append(File.generated(config, page_of(path), abs_src_path=source))
        else:
            content = text_of(path) if path.endswith(".md") else shown(path)
            files.append(File.generated(config, page_of(path), content=content))
    return files


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Insert the generated parts, and let links lead to pages of the site."""
    uri = page.file.src_uri
    markdown = GENERATE.sub(lambda match: _generated(match["name"], uri), markdown)
    origin = origins().get(uri)
    if origin is None:
        return markdown  # it shows a file
    markdown = _with_one_title(markdown)
    return outside_code(markdown, lambda text: _with_links(text, origin, uri))


def outside_code(markdown: str, change: reference.Change) -> str:
    """Change the text of a page, but no code."""
    parts, end = [], 0
    for match in CODE.finditer(markdown):
        parts += [change(markdown[end : match.start()]), match[0]]
        end = match.end()
    return "".join((*parts, change(markdown[end:])))


def _with_one_title(markdown: str) -> str:
    """Move all headings but the title one level down where a document has several."""
    titles = re.findall(r"^# ", CODE.sub("", markdown), re.MULTILINE)
    if len(titles) < 2:
        return markdown
    # The table of contents would end before the second title.
    lower = outside_code(markdown, lambda text: HEADING.sub("#", text))
    return lower.replace("## ", "# ", 1)


def _decisions(entries: list[object]) -> list[object]:
    last = entries[-1]
    if not (isinstance(last, dict) and DECISIONS in last):
        entries.append({DECISIONS: []})
        last = entries[-1]
    assert isinstance(last, dict)  # noqa: S101 - for the type checker
    decisions: list[object] = last[DECISIONS]
    return decisions


def _generated(name: str, uri: str) -> str:
    if name not in reference.PARTS:
        known = ", ".join(reference.PARTS)
        raise PluginError(f"{uri}: generate: {name} is not known; known: {known}")
    return reference.PARTS[name]()


def _with_links(text: str, origin: str, uri: str) -> str:
    def rewritten(match: re.Match[str]) -> str:
        path = _repository_path(origin, match["path"])
        start = posixpath.dirname(uri) or "."
        return posixpath.relpath(page_of(path), start) + (match["anchor"] or "")

    return LINK.sub(rewritten, text)


def _repository_path(origin: str, link: str) -> str:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link))
    if not (ROOT / path).exists():
        raise PluginError(f"{origin}: no such file: {link}")
    return path


@cache
def documents() -> Mapping[str, tuple[str, ...]]:
    """Return the repository paths of the documents, by section."""
    seen: set[str] = set()
    sections = {}
    for section, patterns in SECTIONS.items():
        paths = [
            str(path.relative_to(ROOT))
            for pattern in patterns
            for path in sorted(ROOT.glob(pattern))
            if not path.is_relative_to(PAGES.parent)
        ]
        sections[section] = tuple(p for p in dict.fromkeys(paths) if p not in seen)
        seen.update(paths)
    return sections


@cache
def linked_files() -> tuple[str, ...]:
    """Return what pages and documents link to and is neither of both."""
    known = {path for paths in documents().values() for path in paths}
    todo = [*known, *(str(each.relative_to(ROOT)) for each in PAGES.rglob("*.md"))]
    found: set[str] = set()
    while todo:
        origin = todo.pop()
        for path in _links_of(origin):
            if path in known or path in found or (ROOT / path).is_relative_to(PAGES):
                continue
            found.add(path)
            if path.endswith(".md"):
                todo.append(path)
    return tuple(sorted(found | set(reference.schema_files())))


def _links_of(origin: str) -> Iterator[str]:
    for match in LINK.finditer(CODE.sub("", text_of(origin))):
        yield _repository_path(origin, match["path"])


@cache
def text_of(path: str) -> str:
    """Return a file of the repository."""
    return (ROOT / path).read_text("utf-8")


def page_of(path: str) -> str:
    """Return the site's page for a path of the repository."""
    file = ROOT / path
    if file.is_relative_to(PAGES):
        return file.relative_to(PAGES).as_posix()
    if path == "README.md":
        return "readme.md"  # README.md would be the site's first page
    if any(path in paths for paths in documents().values()):
        return path
    if file.suffix in {".md", *IMAGES}:
        return f"linked/{path}"
    return f"source/{path}/index.md" if file.is_dir() else f"source/{path}.md"


@cache
def origins() -> Mapping[str, str]:
    """Return the repository path of each page that has links by repository paths."""
    own = (str(each.relative_to(ROOT)) for each in PAGES.rglob("*.md"))
    listed = (path for paths in documents().values() for path in paths)
    linked = (path for path in linked_files() if path.endswith(".md"))
    return {page_of(path): path for path in (*own, *listed, *linked)}


def shown(path: str) -> str:
    """Return a page that shows a file, or lists the files of a folder."""
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {Path(path).name}\n\n`{path}`\n\n"
    file = ROOT / path
    if file.is_dir():
        return head + "\n".join(f"- `{each}`" for each in sorted(os.listdir(file)))
    fence = "`" * 6
    return (
        f"{head}{fence}{LANGUAGES.get(file.suffix, 'text')}\n{text_of(path)}\n{fence}\n"
    )
