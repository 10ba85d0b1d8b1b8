"""The generated parts of the reference: Markdown, made from the code.

Each function of `PARTS` returns what takes the place of ``<!-- generate: NAME -->``.
Links are by places in the repository, as seen from a page of ``pages/reference``.
"""

from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import annotated_types
import orjson
import typer.main
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

import deid_core
from deid_core import Label, known_policies, known_presets, load_policy, load_preset
from deid_core.detectors.rules.engine import RULES
from deid_core.detectors.rules.rule import Rule
from streams.cli.app import app
from streams.engine import reasons
from streams.engine.exit_status import STATUSES
from streams.engine.settings import PREFIX
from streams.kafka.topics import ALL_TOPICS, Topic
from streams.operations.metrics import catalogue
from streams.operations.settings import Settings
from streams.products import load, products
from streams.products.mllp import catalogue as mllp_catalogue

Change = Callable[[str], str]

ROOT = Path(__file__).parents[2]
UP = "../../../.."
"""The repository, from ``deploy/docs/pages/reference``."""
RUNBOOK = "../../../runbook.md"
NONE = "\N{EN DASH}"


# Markdown


def prose(text: str) -> str:
    """Return plain text as Markdown; what is in backticks is code there, too."""
    text = text.replace("``", "`")
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(p if p.startswith("`") else _escaped(p) for p in parts)


def _escaped(text: str) -> str:
    return re.sub(r"([*_\[\]|])", r"\\\1", text).replace("<", "&lt;")


def code(value: object) -> str:
    """Return a value as inline code, also within a table."""
    text = str(value).replace("|", "&#124;") if "|" in str(value) else str(value)
    if not text:
        return ""
    if "&#124;" in text:
        return f"<code>{text.replace('<', '&lt;')}</code>"
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a cell without content gets a dash."""
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    lines += [f"| {' | '.join(_cell(each) for each in row)} |" for row in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()) or NONE


def paragraphs(*parts: str) -> str:
    """Join what is not empty by empty lines."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def fenced(text: str, language: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


# The command line


def commands() -> str:
    """Return every command with its arguments and options."""
    root: Any = typer.main.get_command(app)
    return paragraphs(*_commands(root, "phistream"))


def _commands(command: Any, name: str) -> Iterator[str]:
    context = command.make_context(name, [], resilient_parsing=True)
    context.info_name = name
    command = context.command  # imported just now
    subcommands: Mapping[str, Any] = getattr(command, "commands", {})
    usage = " ".join((name, *command.collect_usage_pieces(context)))
    yield f"## {name}"
    yield prose(inspect.cleandoc(command.help or ""))
    yield fenced(usage, "text")
    records = [
        (each, each.get_help_record(context))
        for each in command.get_params(context)
        if not getattr(each, "hidden", False)
    ]
    rows = [(code(r[0]), prose(r[1])) for each, r in records if r is not None]
    yield table(("argument or option", "meaning"), rows)
    if subcommands:
        names = (
            f"[`{each}`](#{name.replace(' ', '-')}-{each})" for each in subcommands
        )
        yield f"Commands: {', '.join(names)}."
    for each, subcommand in subcommands.items():
        if not subcommand.hidden:
            yield from _commands(subcommand, f"{name} {each}")


# Settings


def settings() -> str:
    """Return all settings, those of tables in sections of their own."""
    own, tables = [], []
    fields = dict(Settings.model_fields)
    del fields["products"]
    places = {name: each.settings for name, each in products().items() if each.settings}
    for name, place in places.items():
        kind = load(place)
        summary = (inspect.getdoc(kind) or "").partition(": ")[2].removesuffix(".")
        fields[name] = FieldInfo(
            annotation=kind, default_factory=dict, description=summary
        )
    for name, info in fields.items():
        variable = f"<br>`{PREFIX}{name.upper()}`"
        own.append(_setting(name, info, variable))
        model = _model_in(info.annotation)
        if model is not None:
            tables += [f"## {_heading(name, info)}", prose(inspect.getdoc(model) or "")]
            rows = (
                _setting(each.alias or key, each)
                for key, each in model.model_fields.items()
            )
            tables.append(table(("key", "type", "default", "meaning"), rows))
    heads = ("key, and name in the environment", "type", "default", "meaning")
    return paragraphs("## Top level", table(heads, own), *tables)


def _heading(name: str, info: FieldInfo) -> str:
    is_list = typing.get_origin(info.annotation) is tuple
    return f"[[{name}]]" if is_list else f"[{name}]"


def _setting(name: str, info: FieldInfo, variable: str = "") -> tuple[str, ...]:
    kind = _type(info.annotation)
    bounds = _bounds(info)
    return (
        code(name) + variable,
        f"{kind}, {bounds}" if bounds else kind,
        _default(info),
        prose(info.description or ""),
    )


def _model_in(annotation: Any) -> type[BaseModel] | None:
    for each in (annotation, *typing.get_args(annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None


NAMES: Mapping[Any, str] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    Path: "path",
}


def _type(annotation: Any) -> str:
    origin, parameters = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ", ".join(code(each) for each in parameters)
    if origin in (typing.Union, types.UnionType):
        kinds = (_type(each) for each in parameters if each is not type(None))
        return " or ".join(dict.fromkeys(kinds))
    if origin is tuple:
        return f"list of {_type(parameters[0])}"
    if origin is dict:
        return f"table of {_type(parameters[1])}"
    if origin is typing.Annotated:
        return _type(parameters[0])
    if annotation in NAMES:
        return NAMES[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    words = {"SecretStr": "secret text", "TermFiles": "table", "AwareDatetime": "time"}
    name = getattr(annotation, "__name__", str(annotation))
    return words.get(
        name, name.replace("IPv4Network", "network").replace("IPv6Network", "network")
    )


def _bounds(info: FieldInfo) -> str:
    words = []
    for each in info.metadata:
        match each:
            case annotated_types.Ge(ge=bound):
                words.append(
                    f"from {bound:,}" if isinstance(bound, int) else f"from {bound}"
                )
            case annotated_types.Gt(gt=bound):
                words.append(f"over {bound}")
            case annotated_types.Le(le=bound):
                words.append(
                    f"to {bound:,}" if isinstance(bound, int) else f"to {bound}"
                )
    return " ".join(words)


def _default(info: FieldInfo) -> str:
    value = info.default
    if info.default_factory is not None or value is PydanticUndefined:
        return "" if info.default_factory is not None else "required"
    if value is None or value == "" or value == ():
        return ""
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, tuple):
        return ", ".join(code(each) for each in value)
    if isinstance(value, (str, int, float, Path)):
        return code(value)
    return ""


# Topics


def topics() -> str:
    """Return every topic, with the properties of its values."""
    heads = ("topic", "key", "read by", "PHI", "kept", "cleanup")
    rows = [
        (
            f"[`{each.name}`](#{each.name.replace('.', '')})",
            prose(each.key),
            prose(each.readers),
            "yes" if each.phi else "no",
            _kept(each),
            each.cleanup.replace(",", ", "),
        )
        for each in ALL_TOPICS
    ]
    return paragraphs(table(heads, rows), *(_topic(each) for each in ALL_TOPICS))


def _kept(topic: Topic) -> str:
    return f"{topic.retention_days} days" if topic.retention_days > 0 else "for ever"


def _topic(topic: Topic) -> str:
    facts = [f"Values: {prose(topic.value_form)}."]
    if topic.copartitioned_with:
        facts.append(f"As many partitions as `{topic.copartitioned_with}`.")
    if topic.timeless:
        facts.append("Its records tell no time.")
    config = "\n".join(f"{key}={value}" for key, value in topic.config().items())
    return paragraphs(
        f"## {topic.name}", " ".join(facts), _properties(topic), fenced(config, "ini")
    )


def _schema_path(topic: Topic) -> str:
    name = topic.schema_kind or topic.name
    return f"schemas/{name}/v{topic.schema_version}.json"


def schema_files() -> list[str]:
    """Return the schemas to which the page of the topics links."""
    return sorted({_schema_path(each) for each in ALL_TOPICS if each.schema_version})


def _properties(topic: Topic) -> str:
    if not topic.schema_version:
        return ""
    path = _schema_path(topic)
    schema = orjson.loads((ROOT / path).read_bytes())
    required = schema.get("required", ())
    rows = [
        (
            code(name),
            _json_type(each),
            "yes" if name in required else "no",
            prose(each.get("description", "")),
        )
        for name, each in schema.get("properties", {}).items()
    ]
    return paragraphs(
        f"{prose(schema.get('description', ''))} ([`{path}`]({UP}/{path})).",
        table(("property", "type", "required", "meaning"), rows),
    )


def _json_type(schema: Mapping[str, Any]) -> str:
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return ", ".join(code(each) for each in schema["enum"])
    if "$ref" in schema:
        return code(schema["$ref"].rpartition("/")[2])
    kind = schema.get("type", "")
    return " or ".join(kind) if isinstance(kind, list) else kind


# Metrics, statuses, codes


def metrics() -> str:
    """Return every metric of the catalogue."""
    places = [each.metrics for each in products().values() if each.metrics]
    declared = {
        each.name: each
        for each in (*catalogue.WORKERS, *(m for place in places for m in load(place)))
    }
    rows = (
        (
            code(name),
            type(each).__name__.removesuffix("Metric").lower(),
            ", ".join(code(label) for label in each.labels),
            prose(each.meaning),
        )
        for name, each in declared.items()
    )
    labels = "\n".join(
        (inspect.getdoc(module) or "").partition("\n\n    ")[2]
        for module in (catalogue, mllp_catalogue)
    )
    return paragraphs(
        table(("metric", "kind", "labels", "meaning"), rows),
        "## Labels",
        table(("label", "values"), _columns("    " + labels)),
    )


def _columns(text: str) -> Iterator[tuple[str, str]]:
    """Read two columns, of which the second goes on in lines that begin further in."""
    rows: list[tuple[str, str]] = []
    for line in inspect.cleandoc(text).splitlines():
        name, _, rest = line.partition(" ")
        if name:
            rows.append((name, rest))
        elif rows:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
    return ((code(name), prose(rest.strip())) for name, rest in rows)


def statuses() -> str:
    """Return the exit statuses, and the errors that end with each."""
    rows = [
        ("0", "", "success; of a check: the answer is yes"),
        ("1", "", "a check failed, or a record was refused and the others processed"),
        ("2", "", "wrong usage: an option or argument"),
        (
            "3",
            "",
            "reconcile could not read a topic: missing, or hidden from this user",
        ),
    ]
    for kind, status in sorted(STATUSES, key=lambda each: each[1]):
        rows.append((str(status), _error(kind.__name__), prose(_summary(kind))))
    return table(("status", "error", "meaning"), rows)


def _error(name: str) -> str:
    anchor = "configerror-of-streams" if name == "ConfigError" else name.lower()
    return f"[`{name}`]({RUNBOOK}#{anchor})"


def _summary(item: object) -> str:
    return (inspect.getdoc(item) or "").partition("\n\n")[0].replace("\n", " ")


def codes() -> str:
    """Return the reason codes of dead letters."""
    source = inspect.getsource(reasons.ReasonCode)
    meanings = dict(
        re.findall(r'^    [A-Z_]+ = "(\w+)"  # (.+)$', source, re.MULTILINE)
    )
    rows = (
        (f"[`{each.value}`]({RUNBOOK}#{each.value})", prose(meanings[each.value]))
        for each in reasons.ReasonCode
    )
    return table(("code", "the record can never be processed because"), rows)


# The library


def labels() -> str:
    """Return every label, and what each policy writes for it."""
    policies = [load_policy(name) for name in known_policies()]
    heads = ("label", "Safe Harbor", *(code(each.name) for each in policies))
    rows = (
        (
            code(label.value),
            label.safe_harbor,
            *(each.style(label) for each in policies),
        )
        for label in Label
    )
    return table(heads, rows)


def presets() -> str:
    """Return every preset: those that train nothing with their files."""
    loaded = [load_preset(name) for name in known_presets()]
    usable = [each for each in loaded if not each.first_use_seconds]
    others = [each for each in loaded if each.first_use_seconds]
    rows = (
        (
            f"[`{each.name}`](#{each.name})"
            if _has_file(each.name)
            else code(each.name),
            ", ".join(each.languages) or "any",
            ", ".join(each.detectors),
            prose(each.summary),
        )
        for each in usable
    )
    return paragraphs(
        table(("preset", "languages", "detectors", "what it is"), rows),
        *(_file("presets", each.name) for each in usable if _has_file(each.name)),
        "## Published systems",
        "These learn some invented notes at their first use, which needs the extra "
        "`train`, or notes of your own by `phistream train`.",
        table(
            ("preset", "what it is"),
            ((code(each.name), prose(each.summary)) for each in others),
        ),
    )


def policies() -> str:
    """Return every policy with its file."""
    return paragraphs(*(_file("policies", name) for name in known_policies()))


def _has_file(preset: str) -> bool:
    """Return whether the preset is the library's own, and no other package's."""
    return (ROOT / "deid_core" / "presets" / f"{preset}.toml").exists()


def _file(folder: str, name: str) -> str:
    text = (ROOT / "deid_core" / folder / f"{name}.toml").read_text("utf-8")
    return paragraphs(f"## {name}", fenced(text, "toml"))


def rules() -> str:
    """Return every rule, by label, with its examples."""
    ordered = sorted(RULES, key=lambda each: (each.label.value, each.name))
    parts = [f"{len(ordered)} rules."]
    for label, group in groupby(ordered, key=lambda each: each.label):
        rows = (
            (
                code(each.name),
                f"{each.score:g}",
                _examples(each),
                _examples(each, found=False),
            )
            for each in group
        )
        parts += [
            f"## {label.value}",
            table(("rule", "score", "finds", "leaves"), rows),
        ]
    return paragraphs(*parts)


def _examples(rule: Rule, *, found: bool = True) -> str:
    examples = rule.found if found else rule.not_found
    return "<br>".join(
        "<br>".join(
            _escaped_example(line) for line in each.splitlines() if line.strip()
        )
        for each in examples[:2]
    )


def _escaped_example(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_{}\[\]()#+!~|])", r"\\\1", text)
    return text.replace("«", "<mark>").replace("»", "</mark>")


def api() -> str:
    """Return the public names of deid_core, from their docstrings."""
    parts = [docstring(inspect.getdoc(deid_core) or "")]
    for name in deid_core.__all__:
        parts += [f"## {name}", *_item(name, getattr(deid_core, name))]
    return paragraphs(*parts)


def _item(name: str, item: Any) -> Iterator[str]:
    if not isinstance(item, type):
        if callable(item):
            yield _signature(name, item)
            yield docstring(inspect.getdoc(item) or "")
        else:
            yield f"A constant: {code(repr(item))}"
        return
    if issubclass(item, enum.Enum):
        yield docstring(inspect.getdoc(item) or "")
        yield "Members: " + ", ".join(code(each.name) for each in item) + "."
    elif issubclass(item, BaseException):
        yield fenced(f"class {name}({item.__base__.__name__})", "python")
        yield docstring(inspect.getdoc(item) or "")
    else:
        yield _signature(name, item)
        yield docstring(inspect.getdoc(item) or "")
    for key, member in vars(item).items():
        if not key.startswith("_") and _is_described(member):
            yield f"### {name}.{key}"
            yield from _member(key, member)


def _is_described(member: object) -> bool:
    kinds = (property, classmethod, staticmethod, types.FunctionType)
    return isinstance(member, kinds) and bool(inspect.getdoc(_function(member)))


def _function(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    return member.__func__ if isinstance(member, classmethod | staticmethod) else member


def _member(name: str, member: object) -> Iterator[str]:
    function = _function(member)
    if isinstance(member, property):
        returned = inspect.signature(function).return_annotation
        yield fenced(f"{name}: {returned}", "python")
    else:
        kind = "@classmethod\n" if isinstance(member, classmethod) else ""
        yield _signature(name, function, kind)
    yield docstring(inspect.getdoc(function) or "")


def _signature(name: str, item: Any, prefix: str = "") -> str:
    signature = inspect.signature(item)
    keyword_only, parts = False, []
    for each in signature.parameters.values():
        if each.name in ("self", "cls"):
            continue
        if each.kind is each.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        parts.append(_parameter(each, getattr(item, "__annotations__", {})))
    returned = signature.return_annotation
    after = (
        "" if returned in (inspect.Signature.empty, None, "None") else f" -> {returned}"
    )
    line = f"{name}({', '.join(parts)}){after}"
    if len(line) > 80:
        line = f"{name}(\n    " + ",\n    ".join(parts) + f",\n){after}"
    return fenced(prefix + line, "python")


def _parameter(parameter: inspect.Parameter, written: Mapping[str, Any]) -> str:
    text = parameter.name
    if parameter.annotation is not inspect.Parameter.empty:
        # As the code has it; pydantic replaces it by what it has resolved.
        text += f": {written.get(parameter.name, parameter.annotation)}"
    if parameter.default is not inspect.Parameter.empty:
        shown = repr(parameter.default)
        is_long = len(shown) > 30 or shown.startswith("<")
        text += f" = {'...' if is_long else shown}"
    return text


SECTION = re.compile(r"^(Args|Raises|Returns|Yields):$")


def docstring(text: str) -> str:
    """Return a docstring as Markdown: its sections as lists, literal blocks as code."""
    blocks, lines = [], text.splitlines()
    for block in _blocks(lines):
        head = block[0].strip()
        if SECTION.match(head):
            blocks.append(f"**{head[:-1]}**")
            blocks.append(_items(block[1:]))
        elif block[0].startswith("    "):
            blocks.append(fenced(inspect.cleandoc("\n".join(block)), "python"))
        else:
            blocks.append(prose(re.sub(r"::$", ":", "\n".join(block))))
    return paragraphs(*blocks)


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Split at empty lines, but no indented block."""
    block: list[str] = []
    for line, following in zip(lines, (*lines[1:], ""), strict=True):
        if line.strip():
            if block and block[0].startswith("    ") and not line.startswith("    "):
                yield block
                block = []
            block.append(line)
        elif block and not (
            block[0].startswith("    ") and following.startswith("    ")
        ):
            yield block
            block = []
        elif block:
            block.append("")
    if block:
        yield block


def _items(lines: Sequence[str]) -> str:
    items: list[str] = []
    for line in inspect.cleandoc("\n".join(lines)).splitlines():
        if line.startswith(" ") and items:
            items[-1] += f" {line.strip()}"
        else:
            items.append(line)
    return "\n".join(_list_item(each) for each in items)


def _list_item(text: str) -> str:
    name, colon, rest = text.partition(": ")
    return f"- {code(name)}: {prose(rest)}" if colon else f"- {prose(text)}"


PARTS: Mapping[str, Callable[[], str]] = {
    "api": api,
    "commands": commands,
    "dead-letter-codes": codes,
    "exit-statuses": statuses,
    "labels": labels,
    "metrics": metrics,
    "policies": policies,
    "presets": presets,
    "rules": rules,
    "settings": settings,
    "topics": topics,
}
