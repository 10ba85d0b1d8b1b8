"""Make the pictures of the documentation: a note before and after, the operations page.

    python -m tests.deploy.pictures note
    python -m tests.deploy.pictures page --port N    (of phistream demo --page)

Notes and messages are invented.  Chromium and Playwright take the pictures.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from deid_core import (
    Deidentifier,
    Document,
    KnownIdentifiers,
    PersonName,
    ScrubbedDocument,
)
from tests.deploy.pages import PAGES
from tests.end_to_end.test_page import BROWSER, sync_api

PICTURES = PAGES / "pictures"
PATIENT = PersonName(family="Quellwright", given="Mabelle")
NOTE = """\
DISCHARGE SUMMARY             MRN 4471902
Patient: QUELLWRIGHT, MABELLE A.  DOB 08/22/1951
Admitted 3/11/2024, Brannoc Falls General Hospital

Ms. Quelwright is a 72 y.o. retired teacher with
COPD, brought in by her daughter Odalys. Seen by
Dr. Ottoline Brask. O2 sat 88% on room air, 94% on
2 L. Prednisone 40 mg daily for 5 days. History of
Graves disease; a Foley at the last admission.

Lives at 7 Alder Row, Brannoc Falls, NY 14999.
Daughter's phone (312) 555-0147. Follow up with
Dr. Brask on Thursday 3/21/2024. Creatinine 1.02.
"""
COLOURS = {
    "NAME": "#c8dcf5",
    "DATE": "#f4e6a6",
    "LOCATION": "#c5e8cd",
    "CONTACT": "#bfe6ee",
    "ID": "#f3c9de",
}
STYLE = """
body { margin: 0; background: #f3f4f6; font: 14px/1.55 "DejaVu Sans Mono", monospace }
main { display: inline-grid; gap: 14px; padding: 14px }
section + section { grid-column: 2 }
section { background: #fff; border: 1px solid #d5d9e0; border-radius: 8px }
h2 { font: 600 14px sans-serif; margin: 0; padding: 12px 16px; color: #1c2733 }
pre { margin: 0; padding: 0 16px 14px; font: inherit; color: #1c2733 }
mark { border-radius: 3px; padding: 1px 0; color: inherit }
"""

app = typer.Typer(add_completion=False)


@app.command("note")
def note() -> None:
    """Take the picture of a note before and after."""
    record = KnownIdentifiers(patient_names=(PATIENT,))
    scrubbed = Deidentifier.from_names().deidentify(Document("note", NOTE, record))
    with browser_page(width=1020, scale=2) as page:
        page.set_content(before_and_after(scrubbed))
        page.locator("main").screenshot(path=str(PICTURES / "before-and-after.png"))


@app.command("page")
def operations_page(
    port: Annotated[int, typer.Option(help="Port of the page.")] = 8080,
    height: Annotated[int, typer.Option(help="Pixels from the top.")] = 792,
) -> None:
    """Take the picture of the operations page, down to its flow."""
    with browser_page(width=1180, scale=1) as page:
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector("#lag tbody tr")
        page.wait_for_timeout(15_000)  # until the curves have some points
        area = {"x": 0, "y": 0, "width": 1180, "height": height}
        path = str(PICTURES / "operations.png")
        page.screenshot(path=path, clip=area, full_page=True)


@contextmanager
def browser_page(width: int, scale: int) -> Iterator[Any]:
    """Open a tab of a browser with the light colours."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"]
        )
        yield browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme="light",
            device_scale_factor=scale,
        )
        browser.close()


def before_and_after(scrubbed: ScrubbedDocument) -> str:
    """Return a page of HTML with the note and what is published of it, marked."""
    before, after = [], []
    end = 0
    rows = scrubbed.offset_map.rows
    for annotation, row in zip(scrubbed.annotations, rows, strict=True):
        original = NOTE[row.start : row.end]
        replacement = scrubbed.text[row.scrubbed_start : row.scrubbed_end]
        if original == replacement:
            continue  # the policy keeps it
        kept = html.escape(NOTE[end : row.start])
        colour = COLOURS[annotation.label.value.partition(":")[0]]
        before += [kept, marked(original, colour)]
        after += [kept, marked(replacement, colour)]
        end = row.end
    rest = html.escape(NOTE[end:])
    panes = (("The note", (*before, rest)), ("What is published", (*after, rest)))
    sections = (
        f"<section><h2>{title}</h2><pre>{''.join(parts)}</pre></section>"
        for title, parts in panes
    )
    return f"<style>{STYLE}</style><main>{''.join(sections)}</main>"


def marked(text: str, colour: str) -> str:
    """Return text on a background."""
    return f'<mark style="background: {colour}">{html.escape(text)}</mark>'


if __name__ == "__main__":
    app()
