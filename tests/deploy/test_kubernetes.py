"""The manifests: valid for the API, as strict as the image, and settings that exist."""

from __future__ import annotations

import re
from functools import cache

import kubernetes_validate
import pytest
import yaml

from streams.engine.errors import ConfigError
from streams.engine.settings import PREFIX
from streams.kafka.topics import NOTES
from streams.operations.doctor.ports import ANY_ADDRESS
from streams.operations.settings import Settings, load_settings
from streams.products.gateway.server import DRAIN_SECONDS as GATEWAY_DRAIN
from streams.products.mllp.settings import MllpSettings
from streams.service.supervisor import DRAIN_SECONDS
from tests.deploy.kustomize import KUBERNETES, built, files_of, patches_of
from tests.deploy.test_containers import (
    DOCKERFILE,
    LAST,
    image_environment,
    instructions,
    parse,
)

BASE, EXAMPLE = KUBERNETES / "base", KUBERNETES / "overlays/example"
SCRAM = KUBERNETES / "components/scram"
VERSIONS = ("1.28", "1.32", kubernetes_validate.latest_version())
"""The oldest that is supported (pod-index), one between, the newest that is known."""
CUSTOM = {"PodMonitor", "ScaledObject", "TriggerAuthentication"}
PODS = {"StatefulSet", "Deployment"}
MOUNTED = "/etc/phistream/"
READ = {
    # Of each service, the settings that name files it reads.
    "intake": {"pseudonym_keys", "dead_letter_key_file", "operator_tokens_file"},
    "scrub": {"pseudonym_keys", "dead_letter_key_file", "operator_tokens_file"},
    "watch": {"operator_tokens_file"},
    "mllp": {"operator_tokens_file", "mllp"},
    "gateway": {
        "pseudonym_keys", "gateway",
    },
}  # fmt: skip
KAFKA_CLIENTS = {"intake", "scrub", "watch", "mllp"}
OBJECTS = files_of(EXAMPLE)


def of_kind(*kinds, objects=OBJECTS):
    return [each for each in objects if each["kind"] in kinds]


def name_of(pods):
    return pods["metadata"]["labels"]["app.kubernetes.io/component"]


def pod_of(pods):
    return pods["spec"]["template"]["spec"]


def container_of(pods):
    [container] = pod_of(pods)["containers"]
    return container


def environment_of(container, slot="0"):
    """Return what the container's process sees, as Kubernetes resolves it."""
    label = {"metadata.labels['apps.kubernetes.io/pod-index']": slot}
    own = {
        each["name"]: each["value"]
        if "value" in each
        else label[each["valueFrom"]["fieldRef"]["fieldPath"]]
        for each in container.get("env", ())
    }
    return image_environment() | own


def settings_of(pods, slot="0", config=BASE / "phistream.toml"):
    environment = environment_of(container_of(pods), slot)
    assert environment.pop(PREFIX + "CONFIG") == "/etc/phistream/config/phistream.toml"
    return load_settings(config, environment=environment)


@cache
def by_service():
    return {name_of(each): each for each in of_kind(*PODS)}


SERVICES = pytest.mark.parametrize("name", READ)


def check_valid(objects):
    for each in objects:
        for version in VERSIONS:
            kubernetes_validate.validate(each, version, strict=True)


def test_manifests_are_valid_for_every_supported_version_of_the_api():
    check_valid(each for each in OBJECTS if each["kind"] not in CUSTOM)


@pytest.mark.parametrize("folder", [BASE, EXAMPLE], ids=lambda each: each.name)
def test_what_kustomize_builds_is_valid(folder):
    objects = built(folder)

    check_valid(each for each in objects if each["kind"] not in CUSTOM)
    selectors = [each["spec"]["selector"] for each in of_kind(*PODS, objects=objects)]
    assert all(
        each["matchLabels"]["app.kubernetes.io/name"] == "phistream"
        for each in selectors
    )
    [config] = of_kind("ConfigMap", objects=objects)
    for each in of_kind(*PODS, objects=objects):
        mounted = {v["name"]: v for v in pod_of(each)["volumes"]}["config"]
        assert config["metadata"]["name"] == mounted["configMap"]["name"]


def test_a_wrong_field_would_be_seen():
    pods = yaml.safe_load(yaml.safe_dump(by_service()["scrub"]))
    pods["spec"]["template"]["spec"]["enableServiceLink"] = False

    with pytest.raises(kubernetes_validate.ValidationError, match="enableServiceLink"):
        check_valid([pods])


@pytest.mark.parametrize(
    "folder",
    [EXAMPLE, *(each.parent for each in KUBERNETES.glob("components/*/*ization.yaml"))],
    ids=lambda each: each.name,
)
def test_patches_change_what_is_there(folder):
    there = {(each["kind"], each["metadata"]["name"]) for each in OBJECTS}

    assert {*patches_of(folder)} <= there


def test_every_component_belongs_to_the_example_but_the_other_way_to_log_in():
    root = yaml.safe_load((EXAMPLE / "kustomization.yaml").read_text("utf-8"))
    there = {each.name for each in (KUBERNETES / "components").iterdir()}

    used = {each.rpartition("/")[2] for each in root["components"]}
    assert (there - used) == {"scram"}


@SERVICES
def test_a_service_has_settings_and_a_command_that_exist(name):
    pods = by_service()[name]
    settings = settings_of(pods)

    assert settings.kafka["security.protocol"] == "SSL"
    assert parse(container_of(pods)["args"])
    assert settings.bootstrap != ""


@SERVICES
def test_the_files_that_settings_name_are_mounted_and_no_others(name):
    pods = by_service()[name]
    settings, container = settings_of(pods), container_of(pods)
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    mounted = {path for path in mounts if path.startswith(MOUNTED)}
    wanted = {f"{MOUNTED}config"}
    known = dict(settings) | settings.products
    texts = [repr(known[each]) for each in READ[name] - {"pseudonym_keys"}]
    texts += [each.source for each in settings.pseudonym_keys]
    if "pseudonym_keys" not in READ[name]:
        texts.pop()
    if name in KAFKA_CLIENTS:
        texts += settings.kafka.values()
    for text in texts:
        wanted |= {*re.findall(r"/etc/phistream/[\w-]+", text)}

    assert wanted == mounted
    assert all(mounts[each]["readOnly"] for each in mounted)


@SERVICES
def test_secrets_are_files_and_never_variables(name):
    pod = pod_of(by_service()[name])
    [container] = pod["containers"]

    assert "envFrom" not in container
    for each in container["env"]:
        assert "secretKeyRef" not in each.get("valueFrom", {})
        field = each["name"].removeprefix(PREFIX).lower()
        assert field == "config" or "Secret" not in str(
            Settings.model_fields[field].annotation
        )
    for volume in pod["volumes"]:
        if "secret" in volume:
            assert volume["secret"]["defaultMode"] == 0o400


@SERVICES
def test_pods_are_as_restricted_as_the_image_allows(name):
    pod = pod_of(by_service()[name])
    [container] = pod["containers"]
    [user] = re.findall(r"--uid (\d+)", LAST)

    assert {
        k: v for k, v in pod["securityContext"].items() if k != "fsGroupChangePolicy"
    } == {
        "runAsNonRoot": True,
        "runAsUser": int(user),
        "runAsGroup": int(user),
        "fsGroup": int(user),
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["automountServiceAccountToken"] is False
    # PHISTREAM_WATCH_PORT and the like would be refused as unknown settings.
    assert pod["enableServiceLinks"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    for kind in ("requests", "limits"):
        assert set(container["resources"][kind]) == {
            "cpu",
            "memory",
            "ephemeral-storage",
        }


def test_the_variables_of_service_links_would_be_refused():
    with pytest.raises(ConfigError, match="watch_service_host"):
        load_settings(environment={"PHISTREAM_WATCH_SERVICE_HOST": "10.0.0.1"})


@SERVICES
def test_what_a_service_writes_is_on_a_volume(name):
    pods = by_service()[name]
    written = {
        each["mountPath"]
        for each in container_of(pods)["volumeMounts"]
        if not each.get("readOnly")
    }

    assert written == {"/tmp", "/var/lib/phistream"}  # noqa: S108  # of the pod
    [home] = instructions(LAST, "VOLUME")
    assert home == "/var/lib/phistream"
    assert settings_of(pods).state_dir.is_relative_to(home)
    is_state = pods["kind"] == "StatefulSet"
    claims = pods["spec"].get("volumeClaimTemplates", ())
    assert is_state == ("state" in [each["metadata"]["name"] for each in claims])


@SERVICES
def test_probes_ask_the_port_that_the_service_opens(name):
    pods = by_service()[name]
    container = container_of(pods)
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    arguments, settings = parse(container["args"]), settings_of(pods)
    opened = {
        "intake": {"metrics": settings.metrics_port},
        "scrub": {"metrics": settings.metrics_port},
        "watch": {"page": arguments.get("port")},
        "mllp": {
            "mllp": MllpSettings.of(settings).port,
            "metrics": settings.metrics_port,
        },
        "gateway": {"https": arguments.get("port")},
    }[name]

    assert opened == ports
    paths = {"startupProbe": "/healthz", "livenessProbe": "/healthz"}
    for probe, path in (paths | {"readinessProbe": "/readyz"}).items():
        assert path == container[probe]["httpGet"]["path"]
        assert container[probe]["httpGet"]["port"] in ports
    if "host" in arguments:
        # Probes come from the node.
        assert ANY_ADDRESS in (arguments["host"], MllpSettings.of(settings).host)


@pytest.mark.parametrize("name", ["intake", "scrub"])
def test_the_ordinal_of_a_pod_is_its_workers_slot_and_no_part_of_its_port(name):
    pods = by_service()[name]

    for slot in range(8):
        settings = settings_of(pods, str(slot))
        assert slot == settings.first_slot
        assert settings.metrics_port_of(slot) == 9464
    assert parse(container_of(pods)["args"])["workers"] == 1
    assert pods["spec"]["serviceName"] in {
        each["metadata"]["name"]
        for each in of_kind("Service")
        if each["spec"].get("clusterIP") == "None"
    }


def test_a_pod_without_the_label_of_its_ordinal_refuses_to_start():
    """The API server gives an empty variable for a label that is not there."""
    with pytest.raises(ConfigError, match="first_slot"):
        settings_of(by_service()["scrub"], slot="")


@SERVICES
def test_a_pod_may_take_as_long_as_its_service_drains(name):
    pods = by_service()[name]
    drains = {"intake": DRAIN_SECONDS, "scrub": DRAIN_SECONDS, "gateway": GATEWAY_DRAIN}
    answer = MllpSettings.of(settings_of(pods)).answer_seconds

    grace = pod_of(pods)["terminationGracePeriodSeconds"]
    assert grace >= drains.get(name, 2 * answer) + 10


@pytest.mark.parametrize("name", ["intake", "scrub"])
def test_the_supervisor_and_the_wait_for_a_broker_end_before_the_pod_is_restarted(name):
    pods = by_service()[name]
    probe, settings = container_of(pods)["livenessProbe"], settings_of(pods)

    assert settings.broker_wait_seconds < settings.startup_seconds
    # A worker that its supervisor starts again needs a while to listen.
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 60


@pytest.mark.parametrize("name", ["watch", "mllp"])
def test_what_listens_when_a_broker_has_answered_may_take_as_long_to_start(name):
    pods = by_service()[name]
    probe = container_of(pods)["startupProbe"]

    seconds = probe["periodSeconds"] * probe["failureThreshold"]
    assert seconds > settings_of(pods).broker_wait_seconds


def test_budgets_select_services_of_more_than_one_pod():
    budgets = {
        each["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"]: each
        for each in of_kind("PodDisruptionBudget")
    }

    several = {n for n, each in by_service().items() if each["spec"]["replicas"] > 1}
    assert several == set(budgets)
    assert {each["spec"]["maxUnavailable"] for each in budgets.values()} == {1}


def selects(selector, labels):
    return selector.get("matchLabels", {}).items() <= labels.items()


def policies_for(name, kind):
    labels = by_service()[name]["spec"]["template"]["metadata"]["labels"]
    return [
        each
        for each in of_kind("NetworkPolicy")
        if selects(each["spec"]["podSelector"], labels)
        and kind in each["spec"]["policyTypes"]
    ]


@SERVICES
def test_all_traffic_is_denied_but_that_which_a_service_needs(name):
    def ports(direction, key):
        return {
            port["port"]
            for policy in policies_for(name, direction)
            for rule in policy["spec"].get(key, ())
            for port in rule["ports"]
        }

    [deny] = [
        each
        for each in of_kind("NetworkPolicy")
        if not {"ingress", "egress"} & set(each["spec"])
    ]
    assert deny["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    given = {each["name"] for each in container_of(by_service()[name])["ports"]}
    assert given == ports("Ingress", "ingress")
    kafka = {9093} if name in KAFKA_CLIENTS else set()
    pages = {"metrics"} if name == "watch" else set()
    assert {53} | kafka | pages == ports("Egress", "egress")
    for each in of_kind("NetworkPolicy"):
        for rule in (*each["spec"].get("ingress", ()), *each["spec"].get("egress", ())):
            assert rule.get("to") or rule.get("from")
            assert rule["ports"]


def test_the_brokers_port_is_the_one_that_is_allowed():
    assert settings_of(by_service()["scrub"]).bootstrap.rpartition(":")[2] == "9093"


def test_watch_asks_workers_that_know_their_names():
    settings = settings_of(by_service()["watch"])
    asked = settings.watch_workers.split(",")
    wanted = [
        f"phistream-{name}-{slot}.phistream-{name}:9464"
        for name in ("intake", "scrub")
        for slot in range(by_service()[name]["spec"]["replicas"])
    ]

    assert wanted == asked
    assert {each.partition(":")[0] for each in asked} <= {
        *settings.allowed_hosts.split(",")
    }


def test_there_are_no_more_workers_than_partitions():
    [scaled] = of_kind("ScaledObject")
    most = scaled["spec"]["maxReplicaCount"]
    partitions = settings_of(by_service()["scrub"]).partitions

    assert most <= partitions
    assert partitions % most == 0
    for name in ("intake", "scrub"):
        assert by_service()[name]["spec"]["replicas"] <= partitions


def test_images_are_named_by_digest_and_have_the_user_of_the_dockerfile():
    root = yaml.safe_load((EXAMPLE / "kustomization.yaml").read_text("utf-8"))
    named = {each["name"] for each in root["images"]}

    assert named == {container_of(each)["image"] for each in by_service().values()}
    for each in root["images"]:
        assert re.fullmatch(r"sha256:[0-9a-f]{64}", each["digest"])
        assert "newTag" not in each
    assert len(re.findall(r"useradd", DOCKERFILE)) == 1
    assert instructions(LAST, "USER") == ["phistream"]


def test_a_password_can_take_the_place_of_a_certificate():
    root = yaml.safe_load((SCRAM / "kustomization.yaml").read_text("utf-8"))
    for each in root["patches"]:
        patch = yaml.safe_load(each["patch"])
        [container] = pod_of(patch)["containers"]
        whole = by_service()[container["name"]]
        environment = environment_of(container_of(whole)) | environment_of(container)
        del environment[PREFIX + "CONFIG"]
        settings = load_settings(BASE / "phistream.toml", environment=environment)

        assert settings.kafka["security.protocol"] == "SASL_SSL"
        assert settings.kafka["sasl.username"] == (f"phistream-{container['name']}")
        assert str(settings.kafka_password_file) == "/etc/phistream/kafka/password"


SPEC = {
    # keda.sh/docs, Reference, ScaledObject specification.
    "scaleTargetRef", "pollingInterval", "cooldownPeriod", "initialCooldownPeriod",
    "idleReplicaCount", "minReplicaCount", "maxReplicaCount", "fallback", "advanced",
    "triggers",
}  # fmt: skip
TRIGGER = {"type", "metadata", "name", "useCachedMetrics", "authenticationRef"}
TRIGGER |= {"metricType"}
KAFKA_TRIGGER = {
    # keda.sh/docs, Scalers, Apache Kafka, Parameter list.
    "bootstrapServers", "consumerGroup", "topic", "lagThreshold",
    "activationLagThreshold", "offsetResetPolicy", "allowIdleConsumers",
    "scaleToZeroOnInvalidOffset", "excludePersistentLag", "limitToPartitionsWithLag",
    "ensureEvenDistributionOfPartitions", "version", "partitionLimitation", "sasl",
    "saslTokenProvider", "tls", "unsafeSsl", "awsRegion",
}  # fmt: skip
KAFKA_AUTHENTICATION = {
    # The same page, Authentication Parameters.
    "sasl", "saslTokenProvider", "username", "password", "keytab", "realm",
    "kerberosConfig", "kerberosServiceName", "kerberosDisableFAST",
    "oauthTokenEndpointUri", "scopes", "oauthExtensions", "tls", "ca", "cert", "key",
    "keyPassword",
}  # fmt: skip


def test_keda_gets_fields_that_it_knows_for_the_group_and_topic_of_scrub():
    [scaled] = of_kind("ScaledObject")
    spec = scaled["spec"]
    [trigger] = spec["triggers"]
    settings = settings_of(by_service()["scrub"])

    assert scaled["apiVersion"] == "keda.sh/v1alpha1"
    assert set(spec) <= SPEC
    assert set(spec["advanced"]) == {
        "horizontalPodAutoscalerConfig",
        "restoreToOriginalReplicaCount",
    }
    assert set(trigger) <= TRIGGER
    assert trigger["type"] == "kafka"
    given = trigger["metadata"]
    assert set(given) <= KAFKA_TRIGGER
    # The CRD takes strings only.
    assert all(isinstance(each, str) for each in given.values())
    assert (f"{settings.group}-scrub", NOTES.name, settings.bootstrap) == (
        given["consumerGroup"],
        given["topic"],
        given["bootstrapServers"],
    )
    flags = ("excludePersistentLag", "limitToPartitionsWithLag")
    assert [given[each] for each in flags] == ["true", "true"]
    assert given["allowIdleConsumers"] == "false"
    assert spec["minReplicaCount"] >= 1
    target = by_service()["scrub"]
    assert spec["scaleTargetRef"] == {
        "apiVersion": target["apiVersion"],
        "kind": target["kind"],
        "name": target["metadata"]["name"],
    }


def test_what_keda_does_to_the_number_of_pods_is_valid_for_an_autoscaler():
    [scaled] = of_kind("ScaledObject")
    spec = scaled["spec"]
    behaviour = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]

    check_valid(
        [
            {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": "keda-hpa-phistream-scrub"},
                "spec": {
                    "minReplicas": spec["minReplicaCount"],
                    "maxReplicas": spec["maxReplicaCount"],
                    "scaleTargetRef": spec["scaleTargetRef"],
                    "behavior": behaviour,
                },
            }
        ]
    )
    for each in behaviour.values():
        # Of the API, which its schema does not say.
        assert 0 <= each["stabilizationWindowSeconds"] <= 3600
        assert all(0 < policy["periodSeconds"] <= 1800 for policy in each["policies"])


def test_kedas_own_principal_is_read_from_a_secret():
    [authentication] = of_kind("TriggerAuthentication")
    [scaled] = of_kind("ScaledObject")
    [trigger] = scaled["spec"]["triggers"]

    assert authentication["metadata"]["name"] == trigger["authenticationRef"]["name"]
    entries = authentication["spec"]["secretTargetRef"]
    assert {each["parameter"] for each in entries} == {"ca", "cert", "key"}
    assert {"ca", "cert", "key"} <= KAFKA_AUTHENTICATION
    assert {each["name"] for each in entries} == {"phistream-keda-kafka"}


def test_keda_alone_sets_the_number_of_pods():
    [scrub] = [each for each in built(EXAMPLE) if each["kind"] == "StatefulSet"
               and each["metadata"]["name"] == "phistream-scrub"]  # fmt: skip

    assert "replicas" not in scrub["spec"]


def test_prometheus_scrapes_ports_that_are_there_with_a_token():
    for monitor in of_kind("PodMonitor"):
        assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
        assert set(monitor["spec"]) <= {
            "selector",
            "podTargetLabels",
            "podMetricsEndpoints",
        }
        selector = monitor["spec"]["selector"]["matchLabels"].items()
        own = {("app.kubernetes.io/name", "phistream")}
        scraped = [
            each
            for each in by_service().values()
            if selector - own <= each["spec"]["template"]["metadata"]["labels"].items()
        ]
        [endpoint] = monitor["spec"]["podMetricsEndpoints"]
        assert set(endpoint) == {"port", "path", "interval", "authorization"}
        assert scraped
        for each in scraped:
            names = [port["name"] for port in container_of(each)["ports"]]
            assert endpoint["port"] in names
