"""The client of the schema registry, against Apicurio with TLS and users.

Errors, nonsense and slowness come from a stand-in (tests/registry.py).
"""

import base64
import json
import socket
import time
from types import SimpleNamespace

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

pytest.importorskip("confluent_kafka.schema_registry")

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from streams.engine.errors import ConfigError, RegistryUnreachable
from streams.engine.keys.office import make_pair, public_file
from streams.kafka.registry import (
    ASK_AGAIN_SECONDS,
    KnownIds,
    definition,
    schema_ids,
    subject,
)
from streams.kafka.topics import (
    FRAMED,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PHI_AUDIT,
    TOPICS_OF,
    Stage,
)
from streams.operations.doctor.registry import registry as check
from streams.operations.settings import Settings, load_settings
from tests.apicurio import apicurio as run_apicurio
from tests.commands import phistream
from tests.registry import settings_of, stand_in

MARKER = "ZZSECRET"
ROLES = {"admin": "sr-admin", "phistream": "sr-developer", "reader": "sr-readonly"}
OF_SCRUB = TOPICS_OF[Stage.SCRUB]


@pytest.fixture(scope="module")
def apicurio(tmp_path_factory):
    """A registry with TLS, three users, and tokens that a key of ours signs."""
    folder = tmp_path_factory.mktemp("apicurio")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    signs = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = signs.public_key().public_bytes(
        Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    )
    properties = {
        "quarkus.http.auth.basic": "true",
        "quarkus.http.auth.permission.all.paths": "/apis/*",
        "quarkus.http.auth.permission.all.policy": "authenticated",
        "quarkus.security.users.embedded.plain-text": "true",
        "quarkus.oidc.tenant-enabled": "true",
        "quarkus.oidc.public-key": base64.b64encode(public).decode(),
        "quarkus.oidc.token.issuer": "any",
        "quarkus.oidc.roles.role-claim-path": "groups",
        "apicurio.auth.role-based-authorization": "true",
        "apicurio.rest.deletion.artifact.enabled": "true",
    }
    for user, role in ROLES.items():
        properties[f"quarkus.security.users.embedded.users.{user}"] = MARKER + user
        properties[f"quarkus.security.users.embedded.roles.{user}"] = role
    with run_apicurio(
        folder, certificate=authority.issue_cert("localhost"), properties=properties
    ) as running:
        admin = SchemaRegistryClient(
            {
                "url": running.url,
                "ssl.ca.location": str(folder / "ca.pem"),
                "basic.auth.user.info": f"admin:{MARKER}admin",
            }
        )
        yield SimpleNamespace(
            url=running.url, ca=str(folder / "ca.pem"), admin=admin, signs=signs
        )
        admin.close()


@pytest.fixture
def registry(apicurio, monkeypatch):
    """The registry, without schemas; on a busy machine it takes its time."""
    monkeypatch.setattr("streams.kafka.registry.TIMEOUT_SECONDS", 60)
    for name in apicurio.admin.get_subjects():
        apicurio.admin.delete_subject(name)
        apicurio.admin.delete_subject(name, permanent=True)
    apicurio.admin.clear_caches()
    return apicurio


@pytest.fixture
def server():
    with stand_in() as server:
        yield server


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch):
    monkeypatch.setattr("streams.kafka.registry.RETRIES", 0)


def as_user(registry, user="phistream", password=None, **values):
    return settings_of(
        registry.url,
        user=user,
        password=password or MARKER + user,
        ca_file=registry.ca,
        **values,
    )


def token_of(registry, role, *, signs=None):
    """Return a JSON Web Token (RFC 7519), signed with RS256."""
    now = int(time.time())
    claims = {"iss": "test", "sub": "x", "iat": now, "exp": now + 600, "groups": [role]}
    parts = [
        base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=")
        for each in ({"alg": "RS256", "typ": "JWT"}, claims)
    ]
    signed = (signs or registry.signs).sign(
        b".".join(parts), padding.PKCS1v15(), SHA256()
    )
    parts.append(base64.urlsafe_b64encode(signed).rstrip(b"="))
    return b".".join(parts).decode()


def findings(settings):
    return [
        (each.level, each.seen) for each in check(SimpleNamespace(settings=settings))
    ]


def free_url():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


# --- what is registered


def test_without_a_registry_nothing_is_asked():
    assert schema_ids(Settings(), OF_SCRUB) == {}
    assert findings(Settings()) == [("OK", "off: values are plain JSON")]


def test_schemas_are_registered_once_under_the_names_of_their_topics(registry):
    settings = as_user(registry, register=True)

    first = schema_ids(settings, OF_SCRUB)
    again = schema_ids(settings, OF_SCRUB)

    assert {topic.name for topic in FRAMED} == first.keys()
    assert first == again
    assert len(set(first.values())) == 3
    assert {subject(topic) for topic in FRAMED} == {*registry.admin.get_subjects()}
    for topic in FRAMED:
        latest = registry.admin.get_latest_version(subject(topic))
        assert (1, first[topic.name]) == (latest.version, latest.schema_id)
        assert definition(topic) == json.loads(latest.schema.schema_str)


def test_nothing_but_the_schemas_is_sent(server):
    schema_ids(settings_of(server.url, register=True), OF_SCRUB)

    assert server.asked == [
        (
            "POST",
            f"/subjects/{subject(topic)}/versions",
            {
                "schema": server.asked[n][2]["schema"],
                "schemaType": "JSON",
                "references": [],
            },
        )
        for n, topic in enumerate(each for each in OF_SCRUB if each in FRAMED)
    ]


def test_ids_are_asked_for_the_topics_that_are_written_alone(registry):
    settings = as_user(registry, register=True)

    assert schema_ids(settings, TOPICS_OF[Stage.INTAKE]).keys() == {PHI_AUDIT.name}
    assert schema_ids(settings, [HL7_RAW, NOTES]) == {}
    assert registry.admin.get_subjects() == [subject(PHI_AUDIT)]


def test_without_register_schemas_must_be_there(registry):
    with pytest.raises(ConfigError, match=r"notes\.scrubbed-value: .*not registered"):
        schema_ids(as_user(registry), OF_SCRUB)
    assert registry.admin.get_subjects() == []
    assert findings(as_user(registry))[0][0] == "FAIL"
    assert findings(as_user(registry, register=True))[0][0] == "WARN"

    registered = schema_ids(as_user(registry, register=True), OF_SCRUB)

    assert registered == schema_ids(as_user(registry), OF_SCRUB)
    [(level, seen)] = findings(as_user(registry))
    assert level == "OK"
    assert f"notes.scrubbed-value {registered[NOTES_SCRUBBED.name]}" in seen


def test_the_command_registers_all_and_says_the_ids(registry, tmp_path):
    environment = environment_of(tmp_path, registry)
    command = ("topics", "register")

    done = phistream(*command, env=environment, text=True, check=True)

    for topic in FRAMED:
        found = registry.admin.get_latest_version(subject(topic)).schema_id
        assert f"{subject(topic)}: id {found}" in done.stdout


# --- compatibility


def another_schema(registry, topic):
    other = {"type": "object", "properties": {"text": {"type": "integer"}}}
    registry.admin.register_schema(subject(topic), Schema(json.dumps(other), "JSON"))


@pytest.mark.parametrize("level", ["BACKWARD", "FORWARD", "FULL"])
def test_a_schema_that_breaks_the_subjects_compatibility_ends_the_start(
    registry, level
):
    another_schema(registry, NOTES_SCRUBBED)
    registry.admin.set_compatibility(subject(NOTES_SCRUBBED), level)
    settings = as_user(registry, register=True)

    with pytest.raises(ConfigError, match=r"refuses the schema \(HTTP 409\)") as caught:
        schema_ids(settings, OF_SCRUB)

    assert "notes.scrubbed-value: " in str(caught.value)
    assert "look at the subject's compatibility" in str(caught.value)


def test_another_schema_under_our_subject_does_not_count_as_ours(registry):
    another_schema(registry, NOTES_SCRUBBED)

    with pytest.raises(ConfigError, match=r"notes\.scrubbed-value: .*not registered"):
        schema_ids(as_user(registry), OF_SCRUB)


@pytest.mark.parametrize("topic", FRAMED, ids=lambda topic: topic.name)
def test_an_added_property_is_compatible_forward_and_not_backward(registry, topic):
    """As schemas/README.md says: versions only add properties."""
    schema_ids(as_user(registry, register=True), [topic])
    later = definition(topic)
    later["properties"]["added"] = {"type": "string"}
    later = Schema(json.dumps(later), "JSON")
    compatible = {}
    for level in ("FORWARD", "BACKWARD"):
        registry.admin.set_compatibility(subject(topic), level)
        compatible[level] = registry.admin.test_compatibility(subject(topic), later)

    assert compatible == {"FORWARD": True, "BACKWARD": False}


# --- credentials and certificates


def test_the_right_password_is_taken_from_the_environment_or_a_file(registry, tmp_path):
    file = tmp_path / "password"
    file.write_text(f"{MARKER}phistream\n")
    table = {"user": "phistream", "ca_file": registry.ca, "register": True}
    from_file = settings_of(registry.url, password_file=str(file), **table)

    assert len(schema_ids(from_file, OF_SCRUB)) == 3
    assert len(schema_ids(as_user(registry), OF_SCRUB)) == 3


def test_a_wrong_password_is_refused_and_not_shown(registry):
    wrong = as_user(registry, password=MARKER + "wrong", register=True)

    with pytest.raises(ConfigError, match=r"refuses the credentials \(HTTP 401") as c:
        schema_ids(wrong, OF_SCRUB)

    assert MARKER not in str(c.value) + repr(wrong)
    assert findings(wrong)[0][0] == "FAIL"


def test_a_user_who_may_only_read_looks_up_but_does_not_register(registry):
    with pytest.raises(ConfigError, match=r"refuses the credentials \(HTTP 403"):
        schema_ids(as_user(registry, "reader", register=True), OF_SCRUB)
    registered = schema_ids(as_user(registry, register=True), OF_SCRUB)

    assert registered == schema_ids(as_user(registry, "reader"), OF_SCRUB)


def test_a_token_is_taken_from_the_environment_or_a_file(registry, tmp_path):
    token = token_of(registry, "sr-developer")
    file = tmp_path / "token"
    file.write_text(token)

    for given in ({"token": token}, {"token_file": str(file)}):
        settings = settings_of(
            registry.url, ca_file=registry.ca, register=True, **given
        )
        assert len(schema_ids(settings, OF_SCRUB)) == 3


def test_a_token_that_another_key_signed_is_refused(registry):
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    token = token_of(registry, "sr-developer", signs=other)
    settings = settings_of(registry.url, ca_file=registry.ca, token=token)

    with pytest.raises(ConfigError, match="refuses the credentials") as caught:
        schema_ids(settings, OF_SCRUB)

    assert token not in str(caught.value) + repr(settings)


def test_only_a_registry_with_a_trusted_certificate_is_asked(registry, tmp_path):
    untrusted = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(untrusted)
    common = {"user": "phistream", "password": MARKER + "phistream"}

    for given in ({}, {"ca_file": str(untrusted)}):
        with pytest.raises(ConfigError, match="not trusted; set ca_file"):
            schema_ids(settings_of(registry.url, **common, **given), OF_SCRUB)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"user": "u"}, "need each other"),
        ({"password": MARKER}, "need each other"),
        ({"user": "u", "password": MARKER, "token": MARKER}, "not both"),
        ({"token": MARKER, "token_file": "/x"}, "as well"),
        ({"token_file": "/nowhere"}, "token_file: can't be read"),
        ({"token": MARKER + "\n2"}, "one line"),
        ({"ca_file": "/nowhere"}, "ca_file: can't be used"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_asked(server, given, says):
    with pytest.raises(ConfigError, match=says) as caught:
        schema_ids(settings_of(server.url, **given), OF_SCRUB)

    assert MARKER not in str(caught.value)
    assert server.asked == []


@pytest.mark.parametrize("url", ["localhost:8081", "http://u:p@host", "ftp://host"])
def test_an_address_without_scheme_or_with_a_password_is_refused(url):
    environment = {"PHISTREAM_SCHEMA_REGISTRY": json.dumps({"url": url})}

    with pytest.raises(ConfigError, match=r"schema_registry\.url"):
        load_settings(environment=environment)


# --- a registry that fails


def test_a_registry_that_does_not_answer_or_fails_is_unreachable(server):
    url = free_url()
    with pytest.raises(RegistryUnreachable, match="did not answer"):
        schema_ids(settings_of(url), OF_SCRUB)
    server.fails(500, 50001)
    with pytest.raises(RegistryUnreachable, match="HTTP 500"):
        schema_ids(settings_of(server.url), OF_SCRUB)
    assert findings(settings_of(url))[0][0] == "FAIL"


def test_a_registry_that_is_too_slow_is_unreachable(server, monkeypatch):
    monkeypatch.setattr("streams.kafka.registry.TIMEOUT_SECONDS", 0.1)
    server.seconds = 0.5

    with pytest.raises(RegistryUnreachable, match="ReadTimeout"):
        schema_ids(settings_of(server.url), OF_SCRUB)


@pytest.mark.parametrize(
    "answer",
    [b"<html>", b"[]", b"null", {"id": 0}, {"id": "7"}, {"id": 1.5}, {"id": 2**32}, {}],
)
def test_an_answer_that_is_no_id_is_refused(server, answer):
    server.answer = answer

    for register in (True, False):
        with pytest.raises(ConfigError, match="no schema registry answers there"):
            schema_ids(settings_of(server.url, register=register), OF_SCRUB)


def test_another_server_is_no_registry(server):
    server.fails(404, None)

    with pytest.raises(ConfigError, match="HTTP 404"):
        schema_ids(settings_of(server.url, register=True), OF_SCRUB)


# --- the ids of values that others wrote


def test_an_id_is_known_if_any_schema_of_the_registry_has_it(registry):
    known = KnownIds(as_user(registry, "reader"))
    another_schema(registry, HL7_RAW)
    found = registry.admin.get_latest_version(subject(HL7_RAW)).schema_id

    assert known(found)
    assert not known(found + 1000)
    assert not known(2**32 - 1)


def test_a_known_id_is_asked_for_once_and_an_unknown_one_again_later(server):
    now = 0.0
    known = KnownIds(settings_of(server.url), clock=lambda: now)
    server.answer = {"schema": "{}", "schemaType": "JSON"}

    assert known(7)
    assert known(7)
    assert server.asked == [("GET", "/schemas/ids/7", None)]
    server.fails(404, 40403)
    assert not known(8)
    assert not known(8)
    assert len(server.asked) == 2
    now += ASK_AGAIN_SECONDS
    server.status, server.answer = 200, {"schema": "{}", "schemaType": "JSON"}
    assert known(8)


def test_a_registry_that_is_away_is_asked_again_by_the_next_worker(server, monkeypatch):
    """The worker ends: no record becomes a dead letter for that."""
    with pytest.raises(RegistryUnreachable, match="did not answer"):
        KnownIds(settings_of(free_url()))(7)
    known = KnownIds(settings_of(server.url))
    server.fails(503, 50003)
    with pytest.raises(RegistryUnreachable, match="HTTP 503"):
        known(7)
    server.status, server.seconds = 200, 0.5
    with monkeypatch.context() as patch:
        patch.setattr("streams.kafka.registry.TIMEOUT_SECONDS", 0.1)
        with pytest.raises(RegistryUnreachable, match="ReadTimeout"):
            known(7)
    server.seconds, server.answer = 0, {"schema": "{}", "schemaType": "JSON"}
    assert known(7)


@pytest.mark.parametrize("answer", [b"<html>", b"[]", {}, {"schema": 7}])
def test_an_answer_that_is_no_schema_is_refused(server, answer):
    server.answer = answer

    with pytest.raises(ConfigError, match="no schema registry answers there"):
        KnownIds(settings_of(server.url))(7)


def test_the_memory_of_ids_is_bounded(server, monkeypatch):
    monkeypatch.setattr("streams.kafka.registry.MAX_IDS", 3)
    known = KnownIds(settings_of(server.url))
    server.fails(404, 40403)

    assert not any(known(each) for each in range(1, 9))
    assert len(known._answers) <= 3


# --- exit statuses


def environment_of(tmp_path, registry, user="phistream", **values):
    key, office = tmp_path / "key", tmp_path / "office" / "office.key"
    if not key.exists():
        key.write_text("0123456789abcdef" * 4)
        office.parent.mkdir()
        make_pair(office)
    table = {"url": registry.url, **values}
    environment = {
        "PHISTREAM_BOOTSTRAP": "127.0.0.1:9",
        "PHISTREAM_PSEUDONYM_KEY_FILE": str(key),
        "PHISTREAM_DEAD_LETTER_KEY_FILE": str(public_file(office)),
    }
    if user:
        table |= {"user": user, "ca_file": registry.ca}
        environment["PHISTREAM_SCHEMA_REGISTRY_PASSWORD"] = MARKER + user
    return environment | {"PHISTREAM_SCHEMA_REGISTRY": json.dumps(table)}


def ended(environment):
    done = phistream("run", "intake", env=environment, text=True)
    assert "schema_registry: phi.audit-value: " in done.stderr
    assert MARKER not in done.stdout + done.stderr
    return done.returncode, done.stderr


def test_a_start_without_the_schema_ends_with_78(registry, tmp_path):
    status, said = ended(environment_of(tmp_path, registry))

    assert status == 78
    assert "phistream topics register" in said


def test_a_start_with_a_schema_that_is_refused_ends_with_78(registry, tmp_path):
    another_schema(registry, PHI_AUDIT)
    registry.admin.set_compatibility(subject(PHI_AUDIT), "FULL")

    status, said = ended(environment_of(tmp_path, registry, register=True))

    assert status == 78
    assert "HTTP 409" in said


def test_a_start_with_refused_credentials_ends_with_78(registry, tmp_path):
    environment = environment_of(tmp_path, registry)
    environment["PHISTREAM_SCHEMA_REGISTRY_PASSWORD"] = MARKER + "wrong"

    status, said = ended(environment)

    assert status == 78
    assert "refuses the credentials" in said


def test_a_start_without_an_answer_ends_with_69(server, tmp_path):
    away = SimpleNamespace(url=free_url())
    status, said = ended(environment_of(tmp_path, away, user=""))
    assert status == 69
    assert "did not answer" in said

    server.fails(503, 50003)
    status, said = ended(environment_of(tmp_path, server, user=""))
    assert status == 69
    assert "HTTP 503" in said
