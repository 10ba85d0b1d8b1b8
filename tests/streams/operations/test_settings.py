import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pydantic_core import PydanticUndefined

from deid_core import Label
from streams.engine.errors import ConfigError
from streams.operations.settings import Settings, load_settings
from streams.products import load, products
from streams.products.gateway.settings import GatewaySettings
from streams.products.mllp.settings import MllpSettings
from tests import commands

SHIPPED = Path(__file__).parents[3] / "deploy/config/phistream.toml"
TABLES = {
    name: load(each.settings) for name, each in products().items() if each.settings
}


@pytest.fixture
def config(tmp_path):
    def config(text):
        (tmp_path / "c.toml").write_text(text)
        return tmp_path / "c.toml"

    return config


def test_the_later_source_wins(config):
    path = config('bootstrap = "file:1"\ngroup = "file"\nbatch_records = 7\n')
    env = {"PHISTREAM_GROUP": "env", "PHISTREAM_BATCH_RECORDS": "8"}

    settings = load_settings(path, {"batch_records": 9, "policy": None}, env)

    assert (
        settings.bootstrap,
        settings.group,
        settings.batch_records,
    ) == ("file:1", "env", 9)


@pytest.mark.parametrize(
    "sources",
    [
        {"config": "batch_record = 7\n"},
        {"environment": {"PHISTREAM_BATCH_RECORD": "7"}},
        {"overrides": {"batch_record": 7}},
    ],
)
def test_an_unknown_key_refuses_and_names_the_known(config, sources):
    if "config" in sources:
        sources = {"config": config(sources["config"])}

    with pytest.raises(ConfigError) as caught:
        load_settings(**({"environment": {}} | sources))

    assert "unknown setting 'batch_record'" in str(caught.value)
    assert "did you mean batch_records?" in str(caught.value)
    assert "bootstrap" in str(caught.value)


def test_a_wrong_value_names_its_key_and_not_the_value():
    env = {"PHISTREAM_BATCH_RECORDS": "ZZMARKER"}

    with pytest.raises(ConfigError) as caught:
        load_settings(environment=env)

    assert "batch_records" in str(caught.value)
    assert "ZZMARKER" not in str(caught.value)


def test_the_password_is_hidden():
    settings = load_settings(environment={"PHISTREAM_KAFKA_PASSWORD": "ZZMARKER"})

    assert "ZZMARKER" not in repr(settings)


def test_no_cluster_is_an_error_that_says_what_to_do(tmp_path):
    settings = load_settings(overrides={"broker_dir": tmp_path}, environment={})

    with pytest.raises(ConfigError, match="phistream broker up"):
        settings.client()


def test_no_key_is_an_error_that_says_what_to_do():
    with pytest.raises(ConfigError, match="phistream key"):
        load_settings(environment={}).pseudonym_key()


def test_a_short_key_is_refused(tmp_path):
    (tmp_path / "k").write_text("short")
    (tmp_path / "k").chmod(0o600)
    settings = load_settings(overrides={"pseudonym_key_file": tmp_path / "k"})

    with pytest.raises(ConfigError, match="less than 32 bytes"):
        settings.pseudonym_key()


def test_lists_of_terms_are_a_table_as_in_presets(config):
    path = config('[terms]\nkeep = ["a.txt"]\n[terms.remove]\n"NAME:DOCTOR" = ["b"]\n')
    terms = load_settings(path, environment={}).terms
    assert (terms.keep, terms.remove) == (("a.txt",), {Label.DOCTOR: ("b",)})

    for wrong in ("removed = []", '[terms.remove]\n"NAME:NURSE" = ["b"]'):
        with pytest.raises(ConfigError, match="terms"):
            load_settings(config(f"[terms]\n{wrong}\n"), environment={})


def test_the_shipped_configuration_names_every_setting():
    """deploy/config/phistream.toml is the reference: complete, and it loads."""
    text = SHIPPED.read_text("utf-8")

    load_settings(SHIPPED, environment={})
    missing = [
        key
        for kind in (Settings, *TABLES.values())
        for key, field in kind.model_fields.items()
        if (f"{key} =" not in text and f"[{key}]" not in text)
        or (field.description or key) not in text
    ]
    assert missing == ["products", "kafka"]
    assert [name for name in TABLES if f"\n[{name}]\n" not in text] == []


def test_the_shipped_configuration_holds_the_defaults():
    """What is commented out has none, or an empty one."""
    values = tomllib.loads(SHIPPED.read_text("utf-8"))
    tables = {name: values.pop(name) for name in TABLES}

    assert Settings() == Settings.model_validate(values)
    assert (Settings.model_fields.keys() - values.keys()) == {
        "bootstrap",
        "kafka_password",
        "kafka_password_file",
        "schema_registry_password",
        "schema_registry_token",
        "traces_headers",
        "pseudonym_key_file",
        "dead_letter_key_file",
        "java_home",
        "json_map",
        "operator_tokens",
        "operator_tokens_file",
        "products",
    }
    for name, table in tables.items():
        assert TABLES[name].of(Settings()) == TABLES[name].model_validate(table)
        fields = TABLES[name].model_fields
        assert all(fields[key].default in (None, PydanticUndefined)
                   for key in fields.keys() - table.keys())  # fmt: skip


def test_what_is_done_with_notes_of_unknown_patients_is_set_by_note_type(config):
    path = config('unknown_patient = "wait"\n[unknown_patient_types]\n"DS" = "hold"\n')
    env = {"PHISTREAM_UNKNOWN_PATIENT_TYPES": '{"OP": "scrub"}'}

    settings = load_settings(path, environment={})

    assert (
        settings.unknown_patient,
        settings.unknown_patient_types,
    ) == ("wait", {"DS": "hold"})
    assert load_settings(environment=env).unknown_patient_types == {"OP": "scrub"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("unknown_patient", "ZZMARKER"),
        ("unknown_patient_seconds", "0"),
        ("unknown_patient_types", "ZZMARKER"),
        ("unknown_patient_types", '{"DS": "ZZMARKER"}'),
    ],
)
def test_a_wrong_policy_for_unknown_patients_is_refused_by_its_key(key, value):
    with pytest.raises(ConfigError, match=key) as caught:
        load_settings(environment={f"PHISTREAM_{key.upper()}": value})

    assert "ZZMARKER" not in str(caught.value)


def test_the_mllp_listener_has_a_table_or_a_json_object_of_the_environment(config):
    path = config('[mllp]\nport = 6661\nallow = ["10.1.0.0/16"]\n')
    from_file = MllpSettings.of(load_settings(path, environment={}))
    env = {"PHISTREAM_MLLP": '{"host": "::", "senders": ["LAB|NORTH"]}'}
    from_environment = MllpSettings.of(load_settings(environment=env))

    assert (from_file.port, from_file.host) == (6661, "127.0.0.1")
    assert [str(each) for each in from_file.allow] == ["10.1.0.0/16"]
    assert (from_environment.host, from_environment.senders) == ("::", ("LAB|NORTH",))


def test_a_key_of_a_table_has_a_name_in_the_environment(config):
    path = config("[gateway]\nrequests = 3\nbatch_notes = 4\n[traces]\nratio = 1\n")
    env = {
        "PHISTREAM_GATEWAY__TOKENS": "lab:ZZMARKER",
        "PHISTREAM_GATEWAY__REQUESTS": "5",
        "PHISTREAM_MLLP__PORT": "6661",
        "PHISTREAM_MLLP": '{"port": 1, "host": "::"}',
        "PHISTREAM_MLLP__SENDERS": '["LAB|NORTH"]',
        "PHISTREAM_TRACES__QUEUE_SPANS": "64",
        "PHISTREAM_SCHEMA_REGISTRY__REGISTER": "true",
    }

    settings = load_settings(path, {"mllp__port": 7, "mllp__host": None}, env)

    gateway, mllp = GatewaySettings.of(settings), MllpSettings.of(settings)
    assert gateway.tokens.get_secret_value() == "lab:ZZMARKER"
    assert "ZZMARKER" not in repr(settings)
    assert (gateway.requests, gateway.batch_notes) == (5, 4)
    assert (mllp.port, mllp.host, mllp.senders) == (7, "::", ("LAB|NORTH",))
    assert (settings.traces.ratio, settings.traces.queue_spans) == (1, 64)
    assert settings.schema_registry.registers


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("GATEWAY__TOKN", "gateway.tokn: Extra inputs are not permitted"),
        ("GATEWAY__REQUESTS", "gateway.requests: "),
        ("GATEWAY", "gateway: Value error, must be a list or table"),
        ("MLLP__SENDERS", "mllp.senders: Value error, must be a list or table"),
        ("LAKE__PROPERTIES__TYPE", "lake.properties__type: "),
        ("TRACES__RATIO__X", "traces.ratio__x: "),
        # A name in the environment has no case.
        ("UNKNOWN_PATIENT_TYPES__DS", "unknown setting 'unknown_patient_types__ds'"),
        ("GROUP__X", "unknown setting 'group__x'"),
        ("OFFICE__X", "unknown setting 'office__x'"),
        ("PRODUCTS", "unknown setting 'products'"),
        ("PRODUCTS__MLLP", "unknown setting 'products__mllp'"),
    ],
)
def test_a_wrong_name_or_value_of_a_table_is_refused_without_the_value(name, said):
    with pytest.raises(ConfigError) as caught:
        load_settings(environment={f"PHISTREAM_{name}": "ZZMARKER"})

    assert str(caught.value).startswith(said)
    assert "ZZMARKER" not in str(caught.value)


def test_a_table_that_is_none_is_refused_with_all_other_errors(config):
    path = config("mllp = 5\nbatch_records = 0\n[gateway]\nrequest = 1\n")

    with pytest.raises(ConfigError) as caught:
        load_settings(path, environment={"PHISTREAM_MLLP__PORT": "1"})

    for key in ("mllp", "batch_records", "gateway.request"):
        assert f"{key}: " in str(caught.value)


@pytest.mark.parametrize("key", ["tokens", "certificate_key", "request_seconds"])
def test_a_former_name_is_refused_with_the_new_one(config, key):
    for sources in (
        {"config": config(f'gateway_{key} = "ZZMARKER"'), "environment": {}},
        {"environment": {f"PHISTREAM_GATEWAY_{key.upper()}": "ZZMARKER"}},
    ):
        with pytest.raises(ConfigError) as caught:
            load_settings(**sources)

        assert str(caught.value) == (
            f"gateway_{key}: is now {key} of the table [gateway], in the environment "
            f"PHISTREAM_GATEWAY__{key.upper()}"
        )


def test_a_table_has_the_name_of_its_product():
    assert list(TABLES) == [each.TABLE for each in TABLES.values()]


def test_the_class_of_a_table_is_imported_only_with_the_table():
    code = (
        "import sys; from streams.operations.settings import load_settings; "
        "load_settings(environment={'PHISTREAM_MLLP__PORT': '1'}); "
        "print([n for n in sys.modules if n.startswith('streams.products.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "streams.products.mllp.settings" in done.stdout
    assert done.stdout.count(".settings") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        "hosts = 1",
        'allow = ["ZZMARKER"]',
        'allow = ["10.1.0.1/16"]',
        'senders = ["ZZMARKER"]',
        'tls_certificate = "ZZMARKER"',
        'tls_client_ca = "ZZMARKER"',
    ],
)
def test_a_wrong_setting_of_the_listener_is_refused_without_its_value(config, wrong):
    with pytest.raises(ConfigError, match="mllp") as caught:
        load_settings(config(f"[mllp]\n{wrong}\n"), environment={})
    assert "ZZMARKER" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'group = "\xff"', "not UTF-8"),
        (b"group = ", "not TOML"),
        (b"\x00", "not TOML"),
        (b"grup = 1", "unknown setting 'grup'"),
        (b"kafka = 5", "kafka"),
        (b"[mllp]\nprot = 1", "mllp.prot"),
    ],
)
def test_a_configuration_that_cannot_be_read_is_refused(tmp_path, content, said):
    file = tmp_path / "c.toml"
    file.write_bytes(content)

    with pytest.raises(ConfigError, match=said):
        load_settings(file, environment={})


def test_a_command_ends_with_78_if_its_configuration_is_refused(tmp_path):
    file = tmp_path / "c.toml"
    for content in (
        b'group = "\xff"',
        b'[kafka]\n"plugin.library.paths" = "/x"',
        b'bootstrap = "127.0.0.1:9"\n[kafka]\n"socket.timeout.ms" = 30000',
        b'bootstrap = "127.0.0.1:9"\n[kafka]\n"fetch.max.bytes" = 1000',
    ):
        file.write_bytes(content)

        done = commands.phistream("run", "scrub", "--config", file, text=True)

        assert done.returncode == 78, done.stderr
        assert done.stderr.splitlines()[-1].startswith("phistream: ")
        assert "Traceback" not in done.stderr
        assert "bug" not in done.stderr


def test_metrics_are_on_a_port_by_slot_or_on_the_same_in_each_pod():
    by_slot = Settings(metrics_port=9464, first_slot=3)
    pod = by_slot.model_copy(update={"metrics_port_by_slot": False})

    assert [by_slot.metrics_port_of(slot) for slot in (3, 4)] == [9467, 9468]
    assert [pod.metrics_port_of(slot) for slot in (3, 4)] == [9464, 9465]
