"""What librdkafka says of TLS and credentials, in words that tell what to do."""

import pytest
from confluent_kafka import KafkaError

from streams.engine.errors import ConfigError
from streams.kafka.client import admin_client, security_problem
from streams.kafka.consumer import check_consumers
from streams.kafka.producer import check_producer
from streams.operations.settings import Settings

FAILED = "SASL authentication error: Authentication failed during authentication due to"
VERIFY = "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed"
ALERT = "Receive failed: error:0A00045C:SSL routines::tlsv13 alert certificate required"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"{FAILED} invalid credentials with SASL mechanism", "sasl.username"),
        ("SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism: "
         "broker's supported mechanisms: SCRAM-SHA-512", "sasl.mechanisms"),
        (f"{VERIFY}: broker certificate could not be verified", "ssl.ca.location"),
        (f"{ALERT}: SSL alert number 116", "ssl.certificate.location"),
        ("SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker "
         "listener? (after 4ms in state SSL_HANDSHAKE)", "security.protocol"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_broker_and_the_property(text, named):
    error = KafkaError(
        KafkaError._TRANSPORT, f"sasl_ssl://k.example:9/bootstrap: {text}"
    )

    assert security_problem(error).startswith("k.example:9: ")
    assert named in security_problem(error)


def test_an_outage_is_no_refusal():
    for text in ("1/1 brokers are down", "k:9/1: Connect to ipv4#1:9 failed: refused"):
        assert security_problem(KafkaError(KafkaError._TRANSPORT, text)) == ""


def test_a_value_that_the_client_refuses_is_named_and_not_shown(tmp_path):
    for name in ("socket.timeout.ms", "security.protocol", "ssl.ca.location"):
        kafka = {"security.protocol": "SSL", name: f"{tmp_path}/ZZMARKER"}
        with pytest.raises(ConfigError, match=r"\[kafka\]") as caught:
            admin_client(Settings(bootstrap="127.0.0.1:9", kafka=kafka))
        assert "ZZMARKER" not in str(caught.value)


def settings_with(**changes):
    return Settings(bootstrap="127.0.0.1:9", log_level="error", **changes)


@pytest.mark.parametrize(
    ("check", "kafka", "said"),
    [
        (check_producer, {"socket.timeout.ms": 30_000}, "setting transaction_seconds"),
        (check_producer, {"reconnect.backoff.max.ms": 1}, "reconnect.backoff.ms"),
        (
            check_producer,
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "ZZMARKER"},
            "a property or a file",
        ),
        (check_consumers, {"receive.message.max.bytes": 20_000_000}, "fetch.max.bytes"),
        (check_consumers, {"fetch.max.bytes": 1000}, "message.max.bytes"),
        (
            check_consumers,
            {"group.protocol": "consumer", "heartbeat.interval.ms": 500},
            "heartbeat.interval.ms",
        ),
    ],
)
def test_properties_that_do_not_go_with_the_workers_own_are_named(check, kafka, said):
    with pytest.raises(ConfigError, match=r"\[kafka\]") as caught:
        check(settings_with(kafka=kafka))
    assert said in str(caught.value)
    assert "ZZMARKER" not in str(caught.value)


def test_usual_properties_go_with_the_workers_own():
    settings = settings_with(kafka={"socket.timeout.ms": 9000, "linger.ms": 50})

    check_producer(settings)
    check_consumers(settings)
