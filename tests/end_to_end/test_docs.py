"""The pages of the documentation that need Kafka, run as a reader runs them.

The tutorial starts a broker and both stages with its own commands; the guides go on
from there, in the order of the navigation; its last page takes everything down.
"""

from __future__ import annotations

import re
from contextlib import suppress

import pytest

from tests.commands import phistream
from tests.deploy.pages import SITE, Sandbox, doc_pages

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

TUTORIAL, LAST = "tutorial/stream.md", "tutorial/stop.md"
PAGES = {each.name: each for each in doc_pages()}
NAVIGATION = re.findall(r"- (\S+\.md)$", (SITE / "mkdocs.yml").read_text(), re.M)
GUIDES = [
    pytest.param(PAGES[name], id=name)
    for name in (*(each for each in NAVIGATION if each != LAST), LAST)
    if PAGES[name].needs_installation
]


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """What the tutorial has built, left running."""
    sandbox = Sandbox(tmp_path_factory.mktemp("tutorial"))
    try:
        sandbox.run(PAGES[TUTORIAL])
        yield sandbox
    finally:
        sandbox.close()
        with suppress(Exception):
            phistream("broker", "down", cwd=sandbox.folder, env=sandbox.environment)


@pytest.mark.parametrize("page", GUIDES)
def test_a_guide_does_what_it_says_after_the_tutorial(page, installation):
    page.skip_without_its_needs()
    sandbox = installation.child()
    try:
        sandbox.run(page)
    finally:
        sandbox.close()


def test_every_page_with_code_is_run_by_a_test():
    """Those without an installation are run by tests/deploy/test_docs.py."""
    run_here = {param.id for param in GUIDES} | {TUTORIAL}
    needing = {name for name, page in PAGES.items() if page.needs_installation}
    assert run_here == needing | {TUTORIAL}
