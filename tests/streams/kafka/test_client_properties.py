import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from streams.engine.errors import ConfigError
from streams.kafka.client import CONSUMER, PRODUCER
from streams.kafka.client_properties import ALLOWED, REFUSED
from streams.operations.settings import Settings, load_settings


@pytest.fixture
def config(tmp_path):
    def config(text):
        (tmp_path / "c.toml").write_text(text)
        return tmp_path / "c.toml"

    return config


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("plugin.library.paths", "runs code"),
        ("ssl.engine.location", "runs code"),
        ("sasl.kerberos.kinit.cmd", "runs code"),
        ("sasl.kerberos.principal", "shell command"),
        ("sasl.kerberos.keytab", "shell command"),
        ("enable.ssl.certificate.verification", "ssl.ca.location"),
        ("ssl.endpoint.identification.algorithm", "ssl.ca.location"),
        ("isolation.level", "exactly once"),
        ("enable.auto.commit", "exactly once"),
        ("bootstrap.servers", "setting bootstrap"),
        ("session.timeout.ms", "setting session_seconds"),
        ("sasl.user", "did you mean sasl.username?"),
        ("no.such", "allowed: api.version"),
    ],
)
def test_a_client_property_that_may_not_be_set_is_refused_by_name(config, name, said):
    with pytest.raises(ConfigError) as caught:
        load_settings(config(f'[kafka]\n"{name}" = "ZZMARKER"\n'), environment={})

    assert name in str(caught.value)
    assert said in str(caught.value)
    assert "ZZMARKER" not in str(caught.value)


@pytest.mark.parametrize(
    "suites",
    [
        "eNULL:@SECLEVEL=0", "DEFAULT@SECLEVEL=0", "HIGH:aNULL", "ALL", "NULL-SHA256",
        "ADH-AES256-SHA:@SECLEVEL=1", "ECDHE-RSA-AES256-GCM-SHA384:NULL", "ZZMARKER",
    ],
)  # fmt: skip
def test_cipher_suites_without_encryption_or_authentication_are_refused(config, suites):
    with pytest.raises(ConfigError, match=r"ssl\.cipher\.suites") as caught:
        load_settings(
            config(f'[kafka]\n"ssl.cipher.suites" = "{suites}"'), environment={}
        )
    assert "ZZMARKER" not in str(caught.value)


@pytest.mark.parametrize("suites", ["HIGH:!aNULL:!MD5", "ECDHE+AESGCM", "DEFAULT"])
def test_usual_cipher_suites_may_be_set(config, suites):
    path = config(f'[kafka]\n"ssl.cipher.suites" = "{suites}"')

    assert suites == load_settings(path, environment={}).kafka["ssl.cipher.suites"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("https.ca.location", "/etc/ssl/ca.pem"),
        ("sasl.oauthbearer.grant.type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
        ("sasl.oauthbearer.assertion.private.key.file", "/run/secrets/key.pem"),
        ("sasl.oauthbearer.client.credentials.client.id", "phistream"),
        ("sasl.oauthbearer.sub.claim.name", "sub"),
        ("sasl.oauthbearer.metadata.authentication.type", "azure_imds"),
        ("enable.metrics.push", "false"),
    ],
)
def test_what_oauth_needs_may_be_set(config, name, value):
    path = config(f'[kafka]\n"{name}" = "{value}"')

    assert load_settings(path, environment={}).kafka == {name: value}


def test_client_properties_are_texts_numbers_or_booleans_and_quoted(config):
    path = config('[kafka]\n"socket.timeout.ms" = 9\n"socket.keepalive.enable" = true')
    env = {"PHISTREAM_KAFKA": '{"sasl.password": "ZZMARKER"}'}
    from_environment = load_settings(environment=env)

    assert (load_settings(path, environment={}).kafka) == {
        "socket.timeout.ms": "9",
        "socket.keepalive.enable": "true",
    }
    assert from_environment.kafka == {"sasl.password": "ZZMARKER"}
    assert "ZZMARKER" not in repr(from_environment)
    with pytest.raises(ConfigError, match="quotes"):
        load_settings(config('[kafka]\nsecurity.protocol = "SSL"'), environment={})


def test_the_client_knows_every_property_that_may_be_set():
    def refusal(name):
        try:
            AdminClient({name: "1"})
        except KafkaException as error:
            return error.args[0].str()
        return ""

    assert [name for name in ALLOWED if "No such" in refusal(name)] == []


def test_no_property_is_both_allowed_and_refused_or_overridden():
    fixed = {*PRODUCER, *CONSUMER}

    assert ALLOWED.isdisjoint(REFUSED)
    assert ALLOWED.isdisjoint(fixed)


def password_of(path, **given):
    return Settings(kafka_password_file=path, bootstrap="b:1", **given).client()


def test_the_password_of_kafka_is_read_from_a_file_of_its_own(tmp_path):
    path = tmp_path / "password"
    path.write_text("s3cret of the broker\n")
    path.chmod(0o440)  # as Kubernetes mounts it

    assert password_of(path)["sasl.password"] == "s3cret of the broker"


def test_a_password_file_that_cannot_be_trusted_is_refused_without_its_content(
    tmp_path,
):
    path = tmp_path / "password"
    for content, mode, expected in (
        ("s3cret\n", 0o644, "others can read or change"),
        ("", 0o600, "must hold one line"),
        ("s3cret\nsecond\n", 0o600, "must hold one line"),
    ):
        path.write_text(content)
        path.chmod(mode)
        with pytest.raises(ConfigError, match=expected) as caught:
            password_of(path)
        assert "kafka_password_file" in str(caught.value)
        assert "s3cret" not in str(caught.value)
        path.unlink()
    with pytest.raises(ConfigError, match="can't be read"):
        password_of(path)
    with pytest.raises(ConfigError, match="kafka_password as well"):
        password_of(path, kafka_password="x" * 8)


def test_batches_that_wait_longer_than_a_transaction_are_refused(config):
    slow = "transaction_seconds = 10\n[kafka]\n"

    assert load_settings(config(f'{slow}"linger.ms" = 9999'), environment={}).kafka
    with pytest.raises(ConfigError, match="transaction_seconds"):
        load_settings(config(f'{slow}"linger.ms" = 10000'), environment={})
