"""The key pair of the privacy office, and what is sealed for it."""

from __future__ import annotations

import base64
import json
import os
import random
import stat
import zlib
from dataclasses import replace

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from streams.engine.errors import ConfigError, InvalidRecord
from streams.engine.keys.office import (
    NotOpened,
    OfficePrivateKey,
    OfficePublicKey,
    make_pair,
    public_file,
)
from streams.engine.reasons import ReasonCode
from streams.engine.records import Partition, Record
from streams.kafka.topics import DEAD_LETTERS, LETTERS_COME_FROM, Stage
from streams.model.audit import dead_letter
from streams.model.letters import MAX_CONTENT, _packed
from tests.office import OFFICE, PRIVATE, letter_of, original_of

UNKNOWN = b"""-----BEGIN PUBLIC KEY-----
MCowBQYDK2UZAyEAeHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=
-----END PUBLIC KEY-----
"""
"""A key in PEM of a kind (OID 1.3.101.25) that nobody knows."""
RECORD = Record(
    Partition("notes", 3), 17, b"ZZKEY|1", b"ZZVALUE\xff\x00", {"h": b"ZZHEAD"}, 1234
)
ERROR = InvalidRecord(ReasonCode.SCHEMA, "notes: text: must be of type string")


def letter(record=RECORD):
    return dead_letter(Stage.SCRUB, record, ERROR, 1, OFFICE)[0].value


def changed(path, value):
    body = orjson.loads(letter())
    *parents, last = path.split(".")
    target = body
    for each in parents:
        target = target[each]
    target[last] = value
    return orjson.dumps(body)


@pytest.mark.parametrize("value", [b"ZZVALUE\xff\x00", b"", None])
@pytest.mark.parametrize("key", [b"ZZKEY", b"", None])
def test_the_private_key_opens_a_letter_byte_for_byte(key, value):
    record = Record(Partition("hl7.raw", 0), 5, key, value, {"a": b"\xff", "b": b""}, 7)

    assert record == original_of(letter(record))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("code", "residue"),
        ("reason", "another"),
        ("stage", "intake"),
        ("source.topic", "hl7.raw"),
        ("source.partition", 4),
        ("source.offset", 18),
        ("sealed.ciphertext", base64.b64encode(b"x" * 200).decode()),
        ("sealed.ciphertext", base64.b64encode(b"x").decode()),
    ],
)
def test_a_letter_that_was_changed_does_not_open_and_says_so(path, value):
    with pytest.raises(NotOpened, match="was changed") as caught:
        original_of(changed(path, value))

    assert "ZZ" not in str(caught.value)


def test_each_bit_of_the_ciphertext_counts():
    sealed = base64.b64decode(orjson.loads(letter())["sealed"]["ciphertext"])
    for at in range(0, len(sealed), 7):
        flipped = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        text = base64.b64encode(flipped).decode()
        with pytest.raises(NotOpened):
            original_of(changed("sealed.ciphertext", text))


def test_a_sealed_record_can_not_be_moved_to_another_letter():
    other = Record(RECORD.partition, 18, b"k", b"v")
    sealed = orjson.loads(letter(other))["sealed"]

    with pytest.raises(NotOpened, match="was changed"):
        original_of(changed("sealed", sealed))


def test_another_key_is_named_by_its_id():
    stranger = OfficePrivateKey(X25519PrivateKey.generate())

    with pytest.raises(NotOpened) as caught:
        original_of(letter(), stranger)

    assert OFFICE.id in str(caught.value)
    assert stranger.public.id in str(caught.value)


def test_a_key_id_that_was_forged_opens_nothing():
    stranger = OfficePrivateKey(X25519PrivateKey.generate())

    with pytest.raises(NotOpened, match="was changed"):
        original_of(changed("sealed.key_id", stranger.public.id), stranger)


def test_a_letter_opens_as_the_schemas_readme_says_without_our_code():
    body = json.loads(letter())
    sealed = {n: v for n, v in body["sealed"].items() if n != "ciphertext"}
    shown = {name: each for name, each in body.items() if name != "sealed"}
    parts = {"letter": shown, "sealed": sealed, "topic": "dead.letters"}
    info = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
    ciphertext = base64.b64decode(body["sealed"]["ciphertext"])

    content = zlib.decompress(suite.decrypt(ciphertext, PRIVATE.key, info.encode()))

    start = 4 + int.from_bytes(content[:4])
    about = json.loads(content[4:start])
    assert RECORD.value == content[start:]
    assert base64.b64decode(about["key"]) == RECORD.key
    assert about["headers"] == {"h": "WlpIRUFE"}
    assert (about["timestamp_ms"], about["has_value"]) == (1234, True)


def sealed_by_hand(content):
    """Return a letter whose content anybody with the public key may have sealed."""
    body = orjson.loads(letter())
    sealed = {n: v for n, v in body["sealed"].items() if n != "ciphertext"}
    shown = {name: each for name, each in body.items() if name != "sealed"}
    parts = {"letter": shown, "sealed": sealed, "topic": "dead.letters"}
    bound = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    ciphertext = base64.b64encode(OFFICE.seal(content, bound)).decode()
    return body | {"sealed": sealed | {"ciphertext": ciphertext}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\0\x02{}",
        zlib.compress(b""),
        zlib.compress(b"\0\0\0\x02{}"),
        zlib.compress(b"\xff\xff\xff\xff"),
        zlib.compress(b"\0\0\0\x06ZZZZZZ"),
        zlib.compress(b"\0\0\0\x02[]"),
        zlib.compress(b"\0\0\0\x02{}")[:-3],
        zlib.compress(b"\0\0\0\x02{}") + b"more",
        zlib.compress(bytes(MAX_CONTENT + 1)),
    ],
)
def test_content_that_is_no_record_opens_nothing_and_shows_no_value(content):
    with pytest.raises(NotOpened) as caught:
        original_of(sealed_by_hand(content))

    assert "ZZ" not in str(caught.value)


HUGE = 30 * 1024 * 1024


@pytest.mark.parametrize(
    "record",
    [
        replace(RECORD, value=b"OBX|1|NM|ZZ\r" * (HUGE // 12)),
        replace(RECORD, headers={"\x01" * (HUGE // 6): b""}),
    ],
)
def test_an_original_that_compresses_well_makes_a_small_letter(record):
    value = letter(record)

    assert len(value) < DEAD_LETTERS.max_message_bytes / 10
    assert record == original_of(value)


def test_the_largest_original_that_a_letter_holds_comes_back():
    about = len(_packed(replace(RECORD, value=b"")))
    record = replace(RECORD, value=bytes(MAX_CONTENT - about))

    assert record == original_of(letter(record))


@pytest.mark.parametrize(
    "record",
    [
        replace(RECORD, value=random.Random(1).randbytes(HUGE)),
        replace(RECORD, value=bytes(MAX_CONTENT)),
    ],
)
def test_an_original_that_no_letter_holds_is_named_in_its_place(record):
    value = letter(record)

    assert len(value) < 2000
    reason = orjson.loads(value)["reason"]
    assert "bytes is too large for a dead letter: it is at its source alone" in reason
    with pytest.raises(NotOpened, match="too large for a letter: it is at notes/3/17"):
        original_of(value)


def test_two_letters_of_one_record_share_no_byte_of_the_record():
    one, other = (orjson.loads(letter())["sealed"]["ciphertext"] for _ in range(2))

    assert one != other


def test_a_pair_is_private_and_its_public_half_alone_seals(tmp_path):
    public = make_pair(tmp_path / "office.key")

    assert stat.S_IMODE((tmp_path / "office.key").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "office.key.pub").stat().st_mode) == 0o644
    read = OfficePublicKey.read(public_file(tmp_path / "office.key"), "w")
    private = OfficePrivateKey.read(tmp_path / "office.key", "w")
    assert public.id == read.id == private.public.id
    assert private.open(read.seal(b"text", b"x"), b"x") == b"text"
    with pytest.raises(ConfigError, match="exists; no key was written"):
        make_pair(tmp_path / "office.key")
    public_file(tmp_path / "office.key").chmod(0o600)
    with pytest.raises(ConfigError, match="opens nothing"):
        OfficePrivateKey.read(tmp_path / "office.key.pub", "w")


def test_a_passphrase_is_needed_and_must_be_right(tmp_path):
    make_pair(tmp_path / "k", b"ZZPASS")

    assert OfficePrivateKey.read(tmp_path / "k", "w", b"ZZPASS")
    with pytest.raises(ConfigError, match="has a passphrase"):
        OfficePrivateKey.read(tmp_path / "k", "w")
    with pytest.raises(ConfigError, match="passphrase is wrong") as caught:
        OfficePrivateKey.read(tmp_path / "k", "w", b"ZZOTHER")
    assert "ZZ" not in str(caught.value)


def test_a_file_that_others_can_read_or_change_is_refused(tmp_path):
    make_pair(tmp_path / "k")
    for mode in (0o604, 0o602, 0o620, 0o644):
        (tmp_path / "k").chmod(mode)
        with pytest.raises(ConfigError, match="others can read or change"):
            OfficePrivateKey.read(tmp_path / "k", "w")
    (tmp_path / "k").chmod(0o440)
    assert OfficePrivateKey.read(tmp_path / "k", "w")


def test_a_worker_refuses_what_is_no_public_key(tmp_path):
    make_pair(tmp_path / "k")
    signing = Ed25519PrivateKey.generate().public_key()
    (tmp_path / "signing").write_bytes(
        signing.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    (tmp_path / "text").write_bytes(b"ZZVALUE")

    (tmp_path / "unknown").write_bytes(UNKNOWN)
    zero = X25519PublicKey.from_public_bytes(bytes(32))
    (tmp_path / "zero").write_bytes(
        zero.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )

    with pytest.raises(ConfigError, match="holds a private key, which no worker"):
        OfficePublicKey.read(tmp_path / "k", "w")
    with pytest.raises(ConfigError, match="nothing can be sealed"):
        OfficePublicKey.read(tmp_path / "zero", "w")
    for name in ("signing", "text", "unknown"):
        with pytest.raises(ConfigError, match="no public key of X25519") as caught:
            OfficePublicKey.read(tmp_path / name, "w")
        assert "ZZ" not in str(caught.value)


def test_the_office_refuses_a_private_key_of_an_unknown_kind(tmp_path):
    body = base64.b64decode("MC4CAQAwBQYDK2UZBCI0" + "eHh4" * 11 + "eHg=")
    text = base64.b64encode(body[:2] + body[2:])
    pem = b"-----BEGIN PRIVATE KEY-----\n%b\n-----END PRIVATE KEY-----\n" % text
    (tmp_path / "odd").write_bytes(pem)
    (tmp_path / "odd").chmod(0o600)

    for passphrase in (None, b"x"):
        with pytest.raises(ConfigError):
            OfficePrivateKey.read(tmp_path / "odd", "w", passphrase)


def test_keys_and_letters_have_no_repr(tmp_path):
    raw = PRIVATE.key.private_bytes_raw()
    shown = repr(PRIVATE) + repr(letter_of(letter())) + repr(PRIVATE.public)

    assert "ZZ" not in shown
    for form in (raw.hex(), base64.b64encode(raw).decode(), repr(raw)[2:-1]):
        assert form not in shown


def test_a_dead_letter_is_not_kept_longer_than_its_source():
    shortest = min(topic.retention_days for topic in LETTERS_COME_FROM)

    assert DEAD_LETTERS.retention_days <= shortest


def test_a_key_file_is_no_longer_than_a_key(tmp_path):
    (tmp_path / "k").write_bytes(os.urandom(70_000))
    with pytest.raises(ConfigError, match="over 65536 bytes"):
        OfficePublicKey.read(tmp_path / "k", "w")
