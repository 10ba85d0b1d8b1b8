"""Checks of the cluster: reachable, recent enough, with suitable limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import ConfigResource, ResourceType

from streams.engine.errors import BrokerUnreachable
from streams.operations.settings import Settings

from .context import TIMEOUT_SECONDS, CheckContext, Versions
from .finding import Finding, fail, ok, warn

FETCH, TXN_OFFSET_COMMIT, DESCRIBE_TRANSACTIONS = 1, 28, 65
"""API keys of Kafka's protocol guide."""


def broker(context: CheckContext) -> Iterator[Finding]:
    """Check that the cluster answers."""
    bootstrap = context.settings.bootstrap
    try:
        metadata = context.broker.metadata
    except BrokerUnreachable as error:
        yield fail(
            f"no broker answers at {bootstrap} ({error})",
            "check bootstrap, network and security settings; for a trial: "
            "phistream broker up",
        )
        return
    nodes = len(metadata.brokers)
    noun = "node" if nodes == 1 else "nodes"
    yield ok(f"{nodes} {noun} at {bootstrap}, cluster {metadata.cluster_id}")


def features(context: CheckContext) -> Iterator[Finding]:
    """Check the versions of the APIs, which tell the broker's release."""
    yield judge_versions(context.broker.versions)


def judge_versions(versions: Versions) -> Finding:
    """Check that the brokers fence zombies by the group's generation (KIP-447)."""
    if not versions:
        return warn("the broker did not report its versions", "use Kafka 2.5 or newer")
    if versions.get(TXN_OFFSET_COMMIT, (0, 0))[1] < 3:
        return fail(
            "older than Kafka 2.5: offsets in a transaction are not fenced by the "
            "group's generation (KIP-447), so that notes could be duplicated",
            "use Kafka 2.5 or newer, preferably 4.0 or newer",
        )
    return ok(
        f"{release(versions)}: transactions fenced by the group's generation (KIP-447)"
    )


def release(versions: Versions) -> str:
    """Return the oldest release with these versions."""
    if versions.get(FETCH, (0, 0))[0] >= 4:
        return "Kafka 4.0 or newer"  # KIP-896 removed the oldest versions
    if DESCRIBE_TRANSACTIONS in versions:
        return "Kafka 3.0 or newer"  # KIP-664
    return "Kafka 2.5 or newer"


def limits(context: CheckContext) -> Iterator[Finding]:
    """Compare the broker's limits with the settings."""
    node = min(context.broker.metadata.brokers)
    resource = ConfigResource(ResourceType.BROKER, str(node))
    try:
        [future] = context.admin.describe_configs([resource]).values()
        config = future.result(TIMEOUT_SECONDS)
    except KafkaException as error:
        yield warn(
            f"the broker's limits are not shown ({error.args[0].name()})",
            "allow DescribeConfigs on the cluster to see them",
        )
        return
    except TimeoutError:
        yield warn("the broker's limits are not shown: no answer", "run it again")
        return
    yield from judge_limits(
        {name: entry.value or "" for name, entry in config.items()}, context.settings
    )


def judge_limits(config: Mapping[str, str], settings: Settings) -> Iterator[Finding]:
    """Check that the broker accepts the settings, and creates no topics by itself."""
    session = int(settings.session_seconds * 1000)
    low, high = (
        _number(config, "group.min.session"),
        _number(config, "group.max.session"),
    )
    transaction = _number(config, "transaction.max")
    if (low is not None and session < low) or (high is not None and session > high):
        yield fail(
            f"session_seconds {settings.session_seconds:g} is outside the broker's "
            f"{low} to {high} ms",
            "set session_seconds within that range",
        )
    if transaction is not None and settings.transaction_seconds * 1000 > transaction:
        yield fail(
            f"transaction_seconds {settings.transaction_seconds:g} is above the "
            f"broker's {transaction} ms",
            "lower transaction_seconds, or raise transaction.max.timeout.ms",
        )
    if config.get("auto.create.topics.enable") == "true":
        yield warn(
            "the broker creates any topic that a client names",
            "set auto.create.topics.enable=false: a typo must fail, not create a topic",
        )
    yield ok(f"sessions {low} to {high} ms, transactions up to {transaction} ms")


def _number(config: Mapping[str, str], name: str) -> int | None:
    value = config.get(f"{name}.timeout.ms")
    return int(value) if value else None
