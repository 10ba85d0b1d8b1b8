"""The settings of the core, and how all are read: frozen.

Later sources override earlier ones: defaults, TOML file (``--config`` or
PHISTREAM_CONFIG), environment (PHISTREAM_KEY, of a table PHISTREAM_TABLE__KEY), command
line.  An unknown key is an error.  `streams.kafka.settings` and
`streams.operations.settings`, which has all of them, add those of their folders; tables
of products are classes of the products.
"""

from __future__ import annotations

import difflib
import os
import time
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_origin

import orjson
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from deid_core.term_files import TermFiles
from streams.engine.keys.ring import PseudonymKey, PseudonymKeys, read_keys
from streams.engine.keys.sources import directory_of, read_key
from streams.products import load, products

from .character_sets import known_codec
from .errors import ConfigError
from .heartbeat import Phase

if TYPE_CHECKING:
    from streams.engine.keys.office import OfficePublicKey

PREFIX = "PHISTREAM_"

UnknownPatient = Literal["scrub", "wait", "hold"]
"""What is done with a note of whose patient no name is known."""


def from_json(value: object) -> Any:  # noqa: ANN401 (it is validated later)
    """Return what a JSON text holds, which is how the environment names tables."""
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except orjson.JSONDecodeError:
        raise ValueError("must be a list or table; in the environment, JSON") from None


class SettingsTable(BaseModel):
    """A table of settings, in the environment also JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _read_table(cls, value: object) -> object:
        """Return the table that a JSON text holds."""
        return from_json(value)

    @field_validator("*", mode="before")
    @classmethod
    def _read_value(cls, value: object, info: ValidationInfo) -> object:
        """Return the list or table that a JSON text holds."""
        kind = cls.model_fields[info.field_name or ""].annotation
        return from_json(value) if get_origin(kind) in (tuple, dict) else value


class ProductSettings(SettingsTable):
    """The table of a product, which has the product's name.

    `Product.settings` names its class, which is imported only if the table is given.
    """

    TABLE: ClassVar[str]

    @classmethod
    def of(cls, settings: CoreSettings) -> Self:
        """Return the table that settings hold, or the defaults."""
        found = settings.products.get(cls.TABLE)
        return found if isinstance(found, cls) else cls()


class KeySettings(BaseModel):
    """An entry of [[pseudonym_keys]]: where a key is, and from when on it is used."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    # The arguments of a command may be secret.
    source: str = Field(repr=False, description="file:, env:, command: or directory:")
    start: AwareDatetime | None = Field(
        None,
        alias="from",
        description="for messages that came to hl7.raw then or later",
    )

    @model_validator(mode="after")
    def _check_directory(self) -> KeySettings:
        """Reject a time for a folder, whose files have one each."""
        if self.start is not None and directory_of(self.source) is not None:
            raise ValueError("from: the names of a folder's files say it")
        return self


class CoreSettings(SettingsTable):
    """The settings of a process that no folder above the engine declares."""

    first_slot: int = Field(0, ge=0, description="ordinal of this host's first worker")
    batch_records: int = Field(
        500, ge=1, le=10_000, description="maximum number of records in a transaction"
    )
    batch_bytes: int = Field(
        4 * 1024 * 1024,
        ge=1024,
        description="bytes of a transaction; the record that exceeds it is the last",
    )
    portion_bytes: int = Field(
        256 * 1024,
        ge=1024,
        description="bytes of a micro-batch; a larger record is processed alone",
    )
    batch_seconds: float = Field(
        0.01,
        ge=0,
        le=5,
        description="time that a batch waits for more records after its first",
    )
    note_seconds: float = Field(
        5,
        gt=0,
        le=300,
        description="CPU time of a micro-batch, or of a record alone",
    )
    note_seconds_per_mb: float = Field(
        15, ge=0, le=300, description="additional CPU time for each megabyte"
    )
    watchdog_seconds: float = Field(
        90, ge=1, description="silence after which a worker is killed"
    )
    startup_seconds: float = Field(
        600,
        ge=5,
        description="likewise of a starting worker, which loads and compiles",
    )
    max_message_bytes: int = Field(
        8 * 1024 * 1024,
        ge=1024,
        description="a larger message of hl7.raw is a dead letter",
    )
    max_note_bytes: int = Field(
        1024 * 1024, ge=1024, description="a larger note is a dead letter"
    )
    rebuild_messages: bool = Field(
        default=False,
        description="whole messages without identifiers are written to hl7.scrubbed",
    )
    charset: str = Field(
        "utf-8",
        description="character set of HL7 messages that name none, and are not UTF-8",
    )
    json_map: Path | None = Field(
        None, description="how JSON of other forms becomes note events: a .toml file"
    )
    repeated_seconds: int = Field(
        0,
        ge=0,
        le=30 * 86_400,
        description="time in which a message that its sender repeats gives no second "
        "note; 0: off",
    )
    preset: str = Field("hybrid", description="detection: a name or a .toml file")
    policy: str = Field(
        "safe-harbor", description="replacement: a name or a .toml file"
    )
    terms: TermFiles = Field(
        TermFiles(), description="lists of names and terms to remove and to keep"
    )
    unknown_patient: UnknownPatient = Field(
        "scrub",
        description="notes of a patient of whom no name is known: scrub, wait or hold",
    )
    unknown_patient_seconds: float = Field(
        30, gt=0, le=7 * 86_400, description="how long such a note waits, with wait"
    )
    unknown_patient_types: dict[str, UnknownPatient] = Field(
        default_factory=dict,
        description="by note type, what else is done with such notes",
    )
    pseudonym_key_file: Path | None = Field(
        None, description="32 or more secret bytes; phistream key FILE makes one"
    )
    pseudonym_keys: tuple[KeySettings, ...] = Field(
        (),
        description="in place of one file, keys in the order in which they come into "
        "force",
    )
    dead_letter_key_file: Path | None = Field(
        None,
        description="public key of the privacy office, which alone can read dead "
        "letters; phistream keys pair FILE makes FILE.pub",
    )
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    products: dict[str, ProductSettings] = Field(
        default_factory=dict, description="tables of products, by their names"
    )

    @field_validator("products", mode="before")
    @classmethod
    def _check_tables(cls, value: Mapping[str, object]) -> object:
        """Validate each table by the class that its product names."""
        kinds: Any = {name: (load(_products()[name]), ...) for name in value}
        return dict(create_model("Tables", **kinds).model_validate(value))

    @field_validator("charset")
    @classmethod
    def _check_charset(cls, value: str) -> str:
        """Return the codec of a character set."""
        return known_codec(value)

    def silence(self, phase: Phase) -> float:
        """Return the seconds after which a silent worker is killed."""
        is_running = phase is Phase.RUNNING
        return self.watchdog_seconds if is_running else self.startup_seconds

    @property
    def has_pseudonym_key(self) -> bool:
        """Whether a key of pseudonyms is set."""
        return self.pseudonym_key_file is not None or bool(self.pseudonym_keys)

    def key_ring(self) -> PseudonymKeys:
        """Return the keys of pseudonyms.

        Raises:
            ConfigError: None is set, one is unreadable or too short, or their order is
                not that in which they come into force.
        """
        file, entries = self.pseudonym_key_file, self.pseudonym_keys
        if file is not None and entries:
            raise ConfigError(
                "pseudonym_key_file and pseudonym_keys: both are set; name the file as "
                'the first of pseudonym_keys: source = "file:..."'
            )
        if file is not None:
            key = read_key(file, "pseudonym_key_file")
            return PseudonymKeys([PseudonymKey(key, source=f"file:{file}")])
        if not entries:
            raise ConfigError(
                "pseudonym_key_file: not set; make a key with: phistream key FILE"
            )
        return read_keys([(e.source, e.start) for e in entries], os.environ)

    def pseudonym_key(self) -> bytes:
        """Return the key of pseudonyms that is in force now.

        Raises:
            ConfigError: As of `key_ring`.
        """
        return self.key_ring().at(int(time.time() * 1000)).value

    def office_key(self) -> OfficePublicKey:
        """Return the key for which dead letters are sealed.

        Raises:
            ConfigError: No file is set, or it holds no public key.
        """
        # It needs cryptography.
        from streams.engine.keys.office import MAKE, OfficePublicKey

        if self.dead_letter_key_file is None:
            raise ConfigError(
                "dead_letter_key_file: not set, and dead letters hold whole messages; "
                f"make a pair with: {MAKE}, and name FILE.pub"
            )
        return OfficePublicKey.read(self.dead_letter_key_file, "dead_letter_key_file")

    @classmethod
    def load(
        cls,
        config: Path | None = None,
        overrides: Mapping[str, object] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """Return the settings from file, environment and command line.

        Args:
            config: A TOML file; by default the one that PHISTREAM_CONFIG names, if any.
            overrides: From the command line, named as in the environment; None values
                are ignored.
            environment: Replaces ``os.environ``.

        Raises:
            ConfigError: A key is unknown or a value is wrong; the message names the
                key.
        """
        env = os.environ if environment is None else environment
        named = config or (
            Path(env[PREFIX + "CONFIG"]) if PREFIX + "CONFIG" in env else None
        )
        values = _from_file(named) if named else {}
        given = {k: v for k, v in (overrides or {}).items() if v is not None}
        for source in (_from_environment(env), given):
            _override(values, source, cls)
        for key in values:
            _check_known(key, cls)
        tables = _products().keys() & values.keys()
        values["products"] = {name: values.pop(name) for name in tables}
        try:
            return cls.model_validate(values).completed(env)
        except ValidationError as error:
            raise ConfigError(explain(error)) from None

    def completed(self, environment: Mapping[str, str]) -> Self:
        """Return the settings with what they leave open and other sources say."""
        return self


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"config {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"config {path}: not UTF-8; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"config {path}: not TOML: {error}") from None


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    return {
        name.removeprefix(PREFIX).lower(): value
        for name, value in env.items()
        if name.startswith(PREFIX) and name != PREFIX + "CONFIG"
    }


def _override(
    values: dict[str, Any], source: Mapping[str, object], settings: type[CoreSettings]
) -> None:
    """Take the values of a source; TABLE__KEY is a key of a table with fixed keys."""
    tables = _products().keys() | {
        name
        for name, field in settings.model_fields.items()
        if isinstance(field.annotation, type)
        and issubclass(field.annotation, SettingsTable)
    }
    for name, value in sorted(source.items()):  # a table comes before its keys
        table, _, key = name.partition("__")
        if key and table in tables:
            # A wrong table is left as it is, and refused later.
            with suppress(TypeError, ValueError):
                values[table] = {**from_json(values.get(table, {})), key: value}
        else:
            values[name] = value


def _check_known(key: str, settings: type[CoreSettings]) -> None:
    fields = settings.model_fields.keys() - {"products"}
    known = sorted(fields | _products().keys())
    if key in known:
        return
    for table, place in _products().items():
        own = key.removeprefix(f"{table}_")
        if own != key and own in load(place).model_fields:
            raise ConfigError(
                f"{key}: is now {own} of the table [{table}], in the environment "
                f"{PREFIX}{table.upper()}__{own.upper()}"
            )
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ConfigError(f"unknown setting {key!r}{hint} known: {', '.join(known)}")


def _products() -> Mapping[str, str]:
    """Return the places of the products' tables by their names."""
    return {name: each.settings for name, each in products().items() if each.settings}


def explain(error: ValidationError) -> str:
    """Return what is wrong, by key and without the value."""
    # pydantic's own message shows the value, which may be a secret.
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])).removeprefix('products.')}: {each['msg']}"
        for each in error.errors(include_input=False, include_url=False)
    )
