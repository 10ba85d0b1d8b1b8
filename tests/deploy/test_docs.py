"""The pages of the documentation: form and code, and the site built of them."""

from __future__ import annotations

import filecmp
import re
import shutil
from urllib.parse import unquote, urlsplit

import lxml.html
import pytest

from streams.cli.commands import COMMANDS
from tests.deploy.pages import PAGES, ROOT, SITE, Sandbox, check_form, doc_pages
from tests.deploy.site import build

PAGE_BY_PAGE = [pytest.param(each, id=each.name) for each in doc_pages()]
WITHOUT_KAFKA = [
    pytest.param(each, id=each.name)
    for each in doc_pages()
    if each.blocks and not each.needs_installation and each.name != "tutorial/stream.md"
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` builds it."""
    return build(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize("page", PAGE_BY_PAGE)
def test_every_block_of_code_is_of_a_kind_that_is_run(page):
    check_form(page)


@pytest.mark.parametrize("page", WITHOUT_KAFKA)
def test_code_without_kafka_does_what_the_page_says(page, tmp_path):
    page.skip_without_its_needs()
    sandbox = Sandbox(tmp_path)
    try:
        sandbox.run(page)
    finally:
        sandbox.close()


def test_pages_have_no_code_that_the_collector_does_not_see(site):
    for page in doc_pages():
        if "<!-- generate:" in page.text:
            assert page.blocks == [], "generated pages have no code of their own"
            continue
        html = (site / page.name).with_suffix("")
        if html.name != "index":
            html = html / "index"
        shown = html.with_suffix(".html").read_text("utf-8").count("<pre")
        assert len(page.blocks) == shown, page.name


def test_the_files_that_drawings_name_exist():
    named = [
        name
        for page in doc_pages()
        for block in page.blocks
        if block.kind == "drawing"
        for name in re.findall(r"[a-z_0-9]+(?:/[a-z_0-9]+)+", block.text)
    ]
    assert named
    for name in named:
        files = [folder / f"{name}.py" for folder in (ROOT, ROOT / "streams")]
        assert any(file.exists() for file in files), name


def test_a_second_build_gives_the_same_files(site, tmp_path):
    again = build(tmp_path / "again")

    files = {each.relative_to(site) for each in site.rglob("*") if each.is_file()}
    others = {each.relative_to(again) for each in again.rglob("*") if each.is_file()}
    assert files == others
    _, different, errors = filecmp.cmpfiles(site, again, files, shallow=False)
    assert (different, errors) == ([], [])


def test_the_reference_has_every_command_and_the_sections_every_decision(site):
    cli = (site / "reference/cli/index.html").read_text("utf-8")
    for name in (*COMMANDS, "topics-list", "lake-run"):
        assert f'id="phistream-{name}"' in cli

    home = (site / "index.html").read_text("utf-8")
    for decision in (SITE.parent / "decisions").glob("*.md"):
        assert f'href="deploy/decisions/{decision.stem}/"' in home


def test_no_page_names_a_host(site):
    """Nothing is asked of the network; links to other sites are for the reader."""
    own = re.compile(r'(?:src|<link[^>]*href)="(?:https?:)?//')
    for page in site.rglob("*.html"):
        assert own.search(page.read_text("utf-8")) is None, page


def test_internal_links_and_anchors_lead_somewhere(site):
    pages = {each: lxml.html.parse(each).getroot() for each in site.rglob("*.html")}
    ids = {page: {*root.xpath("//@id")} for page, root in pages.items()}
    lost = []
    for page, root in pages.items():
        if page.name == "404.html":
            continue  # it is served anywhere, so its links begin with the host
        for link in root.xpath("//a/@href"):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (page.parent / unquote(url.path)).resolve() if url.path else page
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(url.fragment)
            known = ids.get(target, set())
            if not target.exists() or (anchor and anchor not in known):
                lost.append(f"{page.relative_to(site)}: {link}")
    assert lost == []


@pytest.mark.long
def test_a_page_that_no_section_names_is_refused(tmp_path):
    shutil.copytree(PAGES, tmp_path / "pages")
    (tmp_path / "pages/stray-page.md").write_text("# Stray\n")
    configuration = tmp_path / "mkdocs.yml"
    configuration.write_text(
        f"INHERIT: {SITE}/mkdocs.yml\nhooks: [{SITE}/hooks.py]\ndocs_dir: pages\n"
    )
    with pytest.raises(AssertionError, match=r"stray-page\.md"):
        build(tmp_path / "site", configuration)
