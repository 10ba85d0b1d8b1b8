"""The page that shows the OpenAPI document: HTML made here, without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib import resources
from typing import Any

import orjson

Json = Mapping[str, Any]


def page(description: Json) -> str:
    """Return the page of an OpenAPI document."""
    info = description["info"]
    body = [
        "<header>",
        f"<h1>{_text(info['title'])} <small>{_text(info['version'])}</small></h1>",
        f"<p>{_prose(info['description'])}</p>",
        '<p>For programs: <a href="/v1/openapi.json">/v1/openapi.json</a></p>',
        "</header>",
        '<nav aria-label="Paths"><ul>',
        *(
            f'<li><a href="#{_anchor(method, path)}">{method.upper()} '
            f"{_text(path)}</a></li>"
            for method, path, _ in _operations(description)
        ),
        "</ul></nav><main>",
    ]
    for method, path, operation in _operations(description):
        body += _operation(method, path, operation)
    body.append("<h2>Values</h2>")
    for name, schema in sorted(description["components"]["schemas"].items()):
        body += _schema(name, schema)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(info['title'])}</title>"
        '<link rel="stylesheet" href="/docs.css"></head><body>'
        f"{''.join(body)}</main></body></html>"
    )


def style() -> str:
    """Return the page's style sheet."""
    return (resources.files(__package__) / "docs.css").read_text("utf-8")


def _operations(description: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def _operation(method: str, path: str, operation: Json) -> Iterator[str]:
    yield f'<section id="{_anchor(method, path)}"><h2>'
    yield f"<code>{method.upper()} {_text(path)}</code></h2>"
    yield f"<p><strong>{_text(operation['summary'])}.</strong> "
    yield f"{_text(operation.get('description', ''))}</p>"
    if parameters := operation.get("parameters"):
        yield "<h3>Query</h3>"
        yield from _table(
            (each["name"], _type(each["schema"]), each.get("description", ""))
            for each in parameters
        )
    for media_type, content in (
        operation.get("requestBody", {}).get("content", {}).items()
    ):
        yield f"<h3>Body: <code>{_text(media_type)}</code></h3>"
        yield f"<p>{_type(content.get('schema', {}))}</p>"
        for name, example in content.get("examples", {}).items():
            shown = orjson.dumps(example["value"], option=orjson.OPT_INDENT_2).decode()
            yield f"<details><summary>Example: {_text(name)}</summary>"
            yield f'<pre tabindex="0">{_text(shown)}</pre></details>'
    yield "<h3>Answers</h3>"
    yield from _table(
        (status, _types(each), each.get("description", ""))
        for status, each in operation["responses"].items()
    )
    yield "</section>"


def _schema(name: str, schema: Json) -> Iterator[str]:
    yield f'<section id="{_text(name)}"><h3>{_text(name)}</h3>'
    yield f"<p>{_text(schema.get('description', ''))}</p>"
    required = schema.get("required", ())
    if properties := schema.get("properties"):
        yield from _table(
            (
                f"{field} (required)" if field in required else field,
                _type(each),
                each.get("description", ""),
            )
            for field, each in properties.items()
        )
    yield "</section>"


def _table(rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield a table; the second column is HTML."""
    yield "<table><tbody>"
    for name, kind, meaning in rows:
        yield f'<tr><th scope="row"><code>{_text(name)}</code></th>'
        yield f"<td>{kind}</td><td>{_text(meaning)}</td></tr>"
    yield "</tbody></table>"


def _types(response: Json) -> str:
    return "<br>".join(
        f"{_text(media_type)}: {_type(each.get('schema', {}))}"
        for media_type, each in response.get("content", {}).items()
    )


def _type(schema: Json) -> str:
    """Return a type as HTML."""
    if reference := schema.get("$ref"):
        name = _text(reference.rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    for word in ("anyOf", "allOf", "oneOf"):
        if word in schema:
            return " or ".join(map(_type, schema[word]))
    if schema.get("type") == "array":
        return f"array of {_type(schema.get('items', {}))}"
    if "enum" in schema:
        return _text(" or ".join(map(str, schema["enum"])))
    return _text(str(schema.get("type", schema.get("const", "any"))))


def _prose(text: str) -> str:
    """Return Markdown of which only `code` is marked up."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))


def _anchor(method: str, path: str) -> str:
    return _text(f"{method}-{path.strip('/').replace('/', '-').replace(':', '-')}")


def _text(text: str) -> str:
    return escape(text)
