"""HTML: what is shown is read as one text and written back in its place."""

import re
import time
from contextlib import suppress
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.formats.documents import Unreadable, UnreadableKind, open_document
from tests.streams.formats.documents.written import MARKERS, scrubbed, unchanged

READ = {
    "<p><b>Smi</b>th": "Smith\n",
    "<p>Smi<span>t</span>h<p>next": "Smith\nnext\n",
    "<p>Smi<!-- x -->th": "Smith\n",
    "<p>Smi<wbr>th": "Smith\n",
    "<p>Smi<unknown>t</unknown>h": "Smith\n",
    "<p>Smi<span style='DISPLAY:none'>hidden</span>th": "Smith\n",
    "<p>Smi<span hidden>hidden</span>th": "Smith\n",
    "<p>Smi&#116;&#x68; &amp; &lt;c&gt;": "Smith & <c>\n",
    "<p>Smi&lt;b&gt;th": "Smith\n",
    "<p>Smi&#1;th": "Smith\n",
    "<p>John\n\t  Smith": "John Smith\n",
    "<p>John&nbsp;Smith": "John\xa0Smith\n",
    "<p>John<br>Smith": "John\nSmith\n",
    "<div>a<div>b</div>c</div>d": "a\nb\nc\nd\n",
    "<ul><li>a<li>b</ul>": "a\nb\n",
    "<table><tr><td>a</td><td>b</td></tr><tr><th>c": "a\tb\nc\n",
    "<pre>a\n  b</pre>": "a\n  b\n",
    "<html><head><title>T</title><style>s</style></head><body>b": "b\n",
    "<p>a<script>s</script><noscript>n</noscript>": "a\nn\n",
    "<p>a <a href='x'>link</a> <img alt='i'> b": "a link b\n",
    "<p><textarea>area</textarea><input value='v'>": "area\n",
    "<!doctype html>": "",
    "<p><svg><text>s</text></svg>a<object>o</object>": "a\n",
    "<p><![CDATA[c]]>a": "a\n",
}


@pytest.mark.parametrize("source", READ)
def test_html_reads_as_it_is_shown(source):
    assert READ[source] == open_document(source.encode(), "text/html").text


def test_a_part_of_html_may_begin_with_text_if_it_is_declared():
    assert open_document(b"a <b>b</b>", "text/html").text == "a b\n"


def body_of(rebuilt):
    found = re.fullmatch(
        r"<!DOCTYPE html>\n.*?<body>(.*)</body></html>\n", rebuilt, re.S
    )
    return found[1]


def test_structure_is_kept_by_allow_list():
    source = (
        b'<body onload="a" class="c"><h1 id="i">A</h1><p class="c" title="t">b &amp; c'
        b'<b style="s">d</b><a href="h">e</a><img src="s"><br/></p><font color="r">f'
        b'</font><table border="1"><tr><td colspan="2" rowspan="999" bgcolor="b">g'
        b"</table><marquee>h</marquee>"
    )
    document = open_document(source)

    assert body_of(document.rebuilt(unchanged(document)).data.decode()) == (
        "<h1>A</h1><p>b &amp; c<b>d</b>e<br></p>f"
        '<table><tr><td colspan="2">g</td></tr></table>h'
    )


def test_replacements_are_written_where_the_value_was(hybrid):
    document = open_document(
        b"<p>Mr. <b>Qa</b>xavel &lt;came&gt;.</p><p>Seen <i>3/14</i>/2024</p>"
    )
    rebuilt = document.rebuilt(scrubbed(document, hybrid))

    assert rebuilt.media_type == "text/html; charset=utf-8"
    assert body_of(rebuilt.data.decode()) == (
        "<p>Mr. <b></b>[NAME:PATIENT] &lt;came&gt;.</p><p>Seen <i></i>[DATE]</p>"
    )


HIDING = """<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e "%s">]><!-- %s -->
<html lang="%s" xmlns:x="%s"><head><title>%s</title><meta name="author" content="%s">
<style>.%s {}</style><script>var a = "%s";</script><base href="%s"></head>
<body class="%s" data-x="%s" onload="%s"><p title="%s" id="%s">%s <b>%s</b>
<a href="%s" name="%s">%s</a><img src="%s" alt="%s"><x:%s y="%s">%s</x:p>
<![CDATA[%s]]><input value="%s"><object data="%s">%s</object><span hidden>%s</span>
<textarea>%s</textarea><td colspan="%s" %s>%s</td></body></html><!-- %s"""


def test_no_place_of_a_document_hides_a_name(hybrid):
    count = HIDING.count("%s")
    assert count <= len(MARKERS)
    document = open_document((HIDING % MARKERS[:count]).encode())
    result = scrubbed(document, hybrid)
    rebuilt = document.rebuilt(result).data

    assert sum(each in document.text for each in MARKERS) >= 6
    assert not [each for each in MARKERS if each.lower() in rebuilt.decode().lower()]
    assert open_document(rebuilt).text.split() == result.text.split()


ALLOWED = re.compile(
    r"</?(?:abbr|address|article|aside|b|blockquote|br|caption|cite|code|dd|del|details"
    r"|div|dl|dt|em|fieldset|figcaption|figure|footer|h[1-6r]|header|i|ins|kbd|label"
    r"|legend|li|main|mark|nav|ol|p|pre|q|s|samp|section|small|span|strong|sub|summary"
    r"|sup|table|tbody|td|tfoot|th|thead|tr|u|ul|var|wbr)"
    r"(?: (?:colspan|rowspan)=\"[0-9]{1,2}\")*>|[^<>]+"
)


@given(
    st.lists(st.sampled_from(re.findall("<[^<>]*>|[^<>]+|[<>]", HIDING)), max_size=9)
)
def test_nothing_but_allowed_markup_and_text_is_written(parts):
    try:
        document = open_document("<p>".join(parts).encode(), "text/html")
    except Unreadable:
        return
    body = body_of(document.rebuilt(unchanged(document)).data.decode())

    assert ALLOWED.sub("", body) == ""


class _Balanced(HTMLParser):
    """Checks that every element is closed in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("br", "hr", "wbr", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag == self.open.pop()


@pytest.mark.parametrize("source", [*READ, "<b><p>a</b>b</p>", "<p><table><p>a"])
def test_what_is_written_is_balanced_and_reads_the_same(source):
    document = open_document(source.encode(), "text/html")
    rebuilt = document.rebuilt(unchanged(document)).data
    checker = _Balanced()
    checker.feed(rebuilt.decode())

    assert checker.open == []
    assert document.text == open_document(rebuilt).text


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        ("<p>Señora".encode(), ""),
        ("<p>Señora".encode("utf-16"), ""),
        ("<p>Señora".encode("latin-1"), "text/html; charset=iso-8859-1"),
        ('<meta charset="latin1"><p>Señora'.encode("latin-1"), ""),
        (
            '<meta content="text/html; charset=windows-1252"><p>Señora'.encode(
                "cp1252"
            ),
            "text/html",
        ),
    ],
)
def test_html_is_read_in_its_character_set(data, media_type):
    assert open_document(data, media_type).text == "Señora\n"


@pytest.mark.parametrize(
    "body",
    [b"<div>" * 300, b"<b>" * 100_000, b"<b>x" * 1_000_001],
)
def test_what_is_nested_too_deeply_or_too_large_is_refused(body):
    with pytest.raises(Unreadable) as caught:
        open_document(b"<html><body>" + body)

    assert UnreadableKind.TOO_LARGE is caught.value.kind


@pytest.mark.parametrize(
    "attribute", [b" a%d", b" a%d=1", b" a%d='>'", b'a%d="<"', b"/a%d", b"\na%d = x"]
)
def test_a_tag_of_too_many_attributes_is_refused_unread(attribute):
    attributes = b"".join(attribute % number for number in range(100_000))
    start = time.process_time()
    with pytest.raises(Unreadable) as caught:
        open_document(b"<html><body><p " + attributes + b">x")

    assert UnreadableKind.TOO_LARGE is caught.value.kind
    assert time.process_time() - start < 5


def test_any_number_of_tags_may_have_some_attributes():
    tags = b'<p class="a" id=b style="x:y">text</p>' * 10_000

    assert len(open_document(b"<html><body>" + tags).text) == 50_000


@pytest.mark.parametrize(
    "unit", [b"<!--", b"&amp;", b"<b></b>", b"a=b ", b"<p/", b"<a b='", b"</p>", b"\n"]
)
def test_no_html_takes_long(unit):
    start = time.process_time()
    with suppress(Unreadable):
        open_document(b"<p>" + unit * ((8 << 20) // len(unit)), "text/html")

    assert time.process_time() - start < 20


def test_text_behind_the_body_stays_on_a_line_of_its_own():
    page = b"<html><body><td>x</td></body>Seen.</html>"
    document = open_document(page, "text/html")

    rebuilt = document.rebuilt(unchanged(document))

    assert document.text.split() == ["x", "Seen."]
    reopened = open_document(rebuilt.data, rebuilt.media_type)
    assert reopened.text.split() == ["x", "Seen."]
