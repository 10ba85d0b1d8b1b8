"""A real gateway, asked as clients do: paths, limits, tokens, TLS, its end."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from streams.engine.errors import ConfigError
from streams.operations.http_access import Tokens
from streams.products.gateway import models
from streams.products.gateway.guard import HEADERS
from streams.products.gateway.server import (
    HEADER_SECONDS,
    MAX_CONNECTIONS,
    MAX_IDLE,
    require_tokens,
)
from tests.brokers import wait_until
from tests.interrupts import has_ended
from tests.streams.products.gateway.serving import refused_start, serving

pytestmark = pytest.mark.timeout(300)

MARK = "Zzquellwright"
NOTE = {
    "id": "N-Zzid",
    "text": f"Ms. {MARK} was seen on 3/14/2024; call (312) 555-0147.",
    "patient_id": "Zzpatient",
    "patient": {"names": [{"family": MARK}]},
}
MESSAGE = "\r".join(
    (
        "MSH|^~\\&|ZZAPP|ZZWARD|||20240314||ORU^R01|ZZCONTROL|P|2.5",
        f"PID|1||ZZ4711^^^ZZWARD^MR||{MARK}^Mabelle||19480229|F",
        "OBR|1|||11506-3^Progress note^LN",
        f"OBX|1|TX|11506-3^Progress note^LN||Ms. {MARK} was seen.||||||F",
        "",
    )
).encode()
PATIENT = {
    "resourceType": "Patient",
    "id": "ZZ4711",
    "name": [{"family": MARK, "given": ["Mabelle"]}],
    "gender": "female",
}
TOKEN = "t" * 40
BEARER = {"Authorization": f"Bearer {TOKEN}"}
QUICK = {"preset": "lexical", "max_note_bytes": 4096, "max_message_bytes": 20_000}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gateway")
    with serving(
        folder, **QUICK, gateway__body_seconds=1, gateway__tokens=f"lab:{TOKEN}"
    ) as gateway:
        yield gateway


def post(gateway, path, body, media_type="application/json", **headers):
    return gateway.post(path, body, media_type, **BEARER, **headers)


def raw(gateway, data, seconds=100):
    """Send bytes, and return what comes until the connection is closed."""
    with socket.create_connection(("127.0.0.1", gateway.port), seconds) as connection:
        connection.sendall(data)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
        return received


def head(path="/v1/notes", *more):
    lines = [
        f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json",
        f"Authorization: Bearer {TOKEN}", *more, "", "",
    ]  # fmt: skip
    return "\r\n".join(lines).encode()


def test_every_path_answers(gateway):
    rtf = b"{\\rtf1 Ms. %s}" % MARK.encode()
    answers = [
        post(gateway, "/v1/notes", NOTE),
        post(gateway, "/v1/notes:batch", [NOTE, {"id": "1"}]),
        post(gateway, "/v1/documents", rtf, "application/rtf"),
        post(gateway, "/v1/messages", MESSAGE, "x-application/hl7-v2+er7"),
        post(gateway, "/v1/fhir", PATIENT, "application/fhir+json"),
        gateway.get("/healthz"),
        gateway.get("/readyz"),
        gateway.get("/metrics", **BEARER),
        gateway.get("/v1/openapi.json"),
        gateway.get("/docs"),
        post(gateway, "/v1/messages", MESSAGE, "application/hl7-v2"),
        post(gateway, "/v1/messages", MESSAGE, "application/edi-hl7"),
        gateway.get("/docs.css"),
    ]

    assert {each.status for each in answers} == {200}
    assert not [each for each in answers[:5] if b"zz" in each.body.lower()]
    assert answers[3].json["notes"][0]["text"].endswith("was seen.")
    models.Note.model_validate_json(answers[0].body)
    models.Batch.model_validate_json(answers[1].body)
    models.RebuiltDocument.model_validate_json(answers[2].body)
    for each in answers[3:5]:
        models.Messages.model_validate_json(each.body)


def test_every_answer_has_the_security_headers_and_none_of_cors(gateway):
    for each in (
        post(gateway, "/v1/notes", NOTE),
        gateway.get("/docs"),
        gateway.get("/nothing", **BEARER),
        gateway.get("/metrics"),
        gateway.post("/v1/notes", NOTE),
    ):
        found = {name.lower(): value for name, value in each.headers.items()}
        wanted = {name.lower(): value for name, value in HEADERS.items()}
        assert wanted.items() <= found.items()
        assert not [name for name in found if name.startswith("access-control")]
        assert {"server", "date"}.isdisjoint(found)


def test_ids_are_given_back_only_to_who_asks(gateway):
    pseudonym = post(gateway, "/v1/notes", NOTE).json["note_id"]

    assert pseudonym != "N-Zzid"
    assert post(gateway, "/v1/notes?note_id=sent", NOTE).json["note_id"] == "N-Zzid"
    wrong = post(gateway, "/v1/notes?note_id=Zzwrong", NOTE)
    assert (wrong.status, wrong.code) == (422, "schema")
    assert b"Zz" not in wrong.body


@pytest.mark.parametrize("given", [{}, {"Authorization": f"Bearer {'u' * 40}"}])
def test_without_a_known_token_nothing_is_served_but_pages_without_data(gateway, given):
    for method, path in (("POST", "/v1/notes"), ("GET", "/metrics"), ("GET", "/x")):
        answer = gateway.ask(method, path, b"{}", given)
        assert (answer.status, answer.code) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    for path in ("/healthz", "/docs", "/v1/openapi.json"):
        assert gateway.ask("GET", path, headers=given).status == 200


def test_other_hosts_and_pages_of_other_sites_are_refused(gateway):
    wrong = post(gateway, "/v1/notes", NOTE, Host="evil.example")
    other = post(gateway, "/v1/notes", NOTE, Origin="https://evil.example")
    own = post(gateway, "/v1/notes", NOTE, Origin=f"http://localhost:{gateway.port}")

    assert (wrong.status, wrong.code) == (421, "wrong_host")
    assert (other.status, other.code) == (403, "forbidden")
    assert own.status == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/Zzpath", 404, "not_found"),
        ("POST", "/v1/notes/", 404, "not_found"),
        ("GET", "/v1/notes", 405, "method_not_allowed"),
        ("OPTIONS", "/v1/notes", 405, "method_not_allowed"),
        ("DELETE", "/healthz", 405, "method_not_allowed"),
        ("ZZ", "/healthz", 405, "method_not_allowed"),
    ],
)
def test_what_is_not_there_is_said_without_its_name(
    gateway, method, path, status, code
):
    answer = gateway.ask(method, path, headers=BEARER)

    assert (status, code) == (answer.status, answer.code)
    assert b"Zz" not in answer.body


@pytest.mark.parametrize(
    ("path", "media_type", "body", "status", "code"),
    [
        ("notes", "application/json", b'{"Zz":', 422, "bad_json"),
        ("notes", "text/plain", b"Zz", 415, "unsupported"),
        ("notes", "application/json", b'{"id": 1, "text": 4}', 422, "schema"),
        ("messages", "text/plain", b"Zz", 415, "unsupported"),
        ("ccda", "application/xml", b"<Zz/>", 415, "unsupported"),
        ("fhir", "application/fhir+json", b'{"a": "Zz"}', 415, "unsupported"),
        ("documents", "application/pdf", b"%PDF-1.4 Zz %%EOF", 422, "unreadable"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(
    gateway, path, media_type, body, status, code
):
    answer = post(gateway, f"/v1/{path}", body, media_type)

    assert (status, code) == (answer.status, answer.code)
    assert answer.reason
    assert b"Zz" not in answer.body


def test_compressed_bodies_are_refused(gateway):
    answer = post(gateway, "/v1/notes", b"\x1f\x8b", **{"Content-Encoding": "gzip"})

    assert (answer.status, answer.code) == (415, "unsupported")


def test_a_large_body_is_refused_by_its_length_before_it_comes(gateway):
    answer = raw(gateway, head("/v1/notes", "Content-Length: 99999999999"))

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"too_large" in answer


def test_a_chunked_body_is_refused_as_soon_as_it_is_too_large(gateway):
    chunk = b"1000\r\n" + b"Z" * 4096 + b"\r\n"
    answer = raw(gateway, head("/v1/notes", "Transfer-Encoding: chunked") + chunk * 2)

    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_slow_body_is_given_up(gateway):
    started = time.monotonic()
    answer = raw(gateway, head("/v1/notes", "Content-Length: 100") + b'{"id"')

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"slow_body" in answer
    assert time.monotonic() - started < 15


def test_a_slow_head_is_given_up(gateway):
    started = time.monotonic()

    assert raw(gateway, b"POST /v1/notes HTTP/1.1\r\nHost: loc", 60) == b""
    assert HEADER_SECONDS - 1 < time.monotonic() - started < HEADER_SECONDS + 20


def test_what_is_no_http_is_refused_without_its_bytes(gateway):
    answer = raw(gateway, f"MSH|^~\\&|{MARK}\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert MARK.encode() not in answer
    large = raw(gateway, head("/v1/notes", f"X-Large: {MARK * 2000}"))
    assert not large or large.startswith(b"HTTP/1.1 4")
    assert MARK.encode() not in large


def test_many_idle_connections_do_no_harm(gateway):
    idle = [
        socket.create_connection(("127.0.0.1", gateway.port), 10) for _ in range(300)
    ]
    try:
        assert post(gateway, "/v1/notes", NOTE).status == 200
    finally:
        for each in idle:
            each.close()


def test_idle_connections_of_one_address_do_not_keep_others_out(gateway):
    started = time.monotonic()
    idle = []
    try:
        for _ in range(MAX_CONNECTIONS + MAX_IDLE):
            idle.append(socket.create_connection(("127.0.0.1", gateway.port), 10))
        answer = post(gateway, "/v1/notes", NOTE)
        seconds = time.monotonic() - started
        ended = sum(map(is_ended, idle))
    finally:
        for each in idle:
            each.close()

    assert answer.status == 200
    assert seconds < HEADER_SECONDS
    assert ended >= MAX_CONNECTIONS


def is_ended(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_one_connection_serves_many_requests(gateway):
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=30)
    sockets = set()
    for number in range(3):
        headers = {"Content-Type": "application/json", **BEARER}
        note = json.dumps({"id": str(number), "text": "Seen."})
        connection.request("POST", "/v1/notes", note, headers)
        response = connection.getresponse()
        assert (response.status, json.load(response)["text"]) == (200, "Seen.")
        sockets.add(connection.sock.getsockname())
    connection.close()

    assert len(sockets) == 1


def test_requests_at_the_same_time_get_their_own_answers(gateway):
    def ask(number):
        note = {"id": str(number), "text": f"Seen in room {number}, well."}
        answer = post(gateway, "/v1/notes?note_id=sent", note)
        return answer.json["note_id"], answer.json["text"].count(str(number))

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask, range(100, 160)))

    assert [str(number) for number in range(100, 160)] == [name for name, _ in found]


def test_metrics_count_by_closed_sets(gateway):
    before = gateway.metric("phistream_gateway_requests_total")  # 401: none
    sample = 'phistream_gateway_requests_total{client="lab",route="/v1/notes",'
    text = gateway.get("/metrics", **BEARER).body.decode()

    assert before == 0
    assert sample + 'status="200"}' in text
    assert sample + 'status="413"}' in text
    assert 'phistream_gateway_refused_total{reason="slow_body"} 1.0' in text
    assert 'phistream_notes_total{outcome="scrubbed"}' in text
    assert 'route="other",status="404"' in text
    assert "phistream_gateway_running_requests 1.0" in text


def test_zz_nothing_of_any_request_is_in_the_log_or_the_metrics(gateway):
    post(gateway, f"/v1/{MARK}?a={MARK}", NOTE, **{"User-Agent": MARK})
    log = gateway.log.read_text()
    metrics = gateway.get("/metrics", **BEARER).body.decode()

    for text in (log, metrics):
        assert "zz" not in text.lower()
        assert TOKEN not in text
        assert "555-0147" not in text
    messages = [json.loads(line)["message"] for line in log.splitlines()]
    assert any(each.startswith("POST /v1/notes 200 ") for each in messages)
    assert any(each.startswith("POST (unknown path) 404 ") for each in messages)
    assert any(each.startswith("(other) /healthz 405 ") for each in messages)


def test_requests_beyond_the_limit_are_sent_away_for_a_second(tmp_path):
    with serving(tmp_path, "--workers", "1", **QUICK, gateway__requests=2) as gateway:
        slow = [
            socket.create_connection(("127.0.0.1", gateway.port), 30) for _ in range(2)
        ]
        for each in slow:
            each.sendall(head("/v1/notes", "Content-Length: 100"))
        time.sleep(1)
        answer = gateway.post("/v1/notes", NOTE)
        alive = gateway.get("/healthz")
        for each in slow:
            each.close()
        time.sleep(1)
        later = gateway.post("/v1/notes", NOTE)

    assert (answer.status, answer.code) == (503, "overloaded")
    assert answer.headers["Retry-After"] == "1"
    assert 200 == alive.status == later.status


def test_requests_that_were_begun_are_answered_before_the_end(tmp_path):
    with serving(tmp_path, **QUICK) as gateway:
        body = json.dumps(NOTE).encode()
        request = head("/v1/notes", f"Content-Length: {len(body)}") + body
        with socket.create_connection(("127.0.0.1", gateway.port), 60) as connection:
            connection.sendall(request[:-1])
            time.sleep(0.5)
            gateway.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            with pytest.raises(ConnectionError):
                gateway.get("/healthz")
            connection.sendall(request[-1:])
            answer = connection.recv(65536)
        status = gateway.process.wait(60)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert status == 0


def test_over_tls_with_the_certificate_of_files(tmp_path):
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    certificate.cert_chain_pems[0].write_to_path(chain)
    certificate.private_key_pem.write_to_path(key)
    files = {"gateway__certificate": chain, "gateway__certificate_key": key}
    with serving(tmp_path, **QUICK, **files, ready=False) as gateway:
        context = ssl.create_default_context()
        authority.configure_trust(context)
        answer = b""
        for _ in range(300):
            try:
                answer = _over_tls(gateway.port, context)
                break
            except ConnectionRefusedError:
                time.sleep(0.2)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"strict-transport-security" in answer


def _over_tls(port, context):
    with (
        socket.create_connection(("127.0.0.1", port), 30) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection.recv(65536)


@pytest.mark.parametrize(
    ("options", "settings", "named"),
    [
        (("--host", "0.0.0.0"), {}, "gateway.tokens"),  # noqa: S104 (it is refused)
        ((), {"gateway__tokens": "lab:short"}, "gateway.tokens"),
        ((), {"gateway__tokens_file": "absent"}, "gateway.tokens_file"),
        ((), {"gateway__certificate": "absent"}, "gateway.certificate_key"),
        ((), {"pseudonym_key_file": "absent"}, "pseudonym_key_file"),
        (("--policy", "surrogate"), {"preset": "lexical"}, "key"),
        (("--preset", "absent"), {}, "absent"),
    ],
)
def test_a_wrong_setting_refuses_the_start_with_78(tmp_path, options, settings, named):
    status, output = refused_start(tmp_path, *options, **settings)

    assert status == 78, output
    assert named in output
    assert TOKEN not in output


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost", "127.0.0.9"])
def test_loopback_needs_no_token(address):
    require_tokens(Tokens(), address)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "ward.example", ""])  # noqa: S104 (nothing listens)
def test_any_other_address_needs_one(address):
    with pytest.raises(ConfigError, match=r"gateway\.tokens"):
        require_tokens(Tokens(), address)
    require_tokens(Tokens({"lab": b""}), address)


def test_nothing_is_left_of_a_gateway_that_is_killed(tmp_path):
    psutil = pytest.importorskip("psutil")
    with serving(tmp_path, **QUICK) as gateway:
        parent, children = psutil.Process(gateway.process.pid), []

        def are_there():
            children[:] = parent.children(recursive=True)
            return len(children) >= 3

        wait_until(are_there)
        gateway.process.kill()
        gateway.process.wait()

        wait_until(lambda: all(has_ended(child.pid) for child in children))


def test_a_client_that_goes_away_holds_no_worker(tmp_path):
    with serving(tmp_path, "--workers", "1", **QUICK) as gateway:
        body = json.dumps(NOTE).encode()
        request = head("/v1/notes", f"Content-Length: {len(body)}") + body

        def leave():
            with socket.create_connection(("127.0.0.1", gateway.port)) as connection:
                connection.sendall(request)

        threads = [threading.Thread(target=leave) for _ in range(20)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        answer = gateway.post("/v1/notes", NOTE)

    assert answer.status == 200
