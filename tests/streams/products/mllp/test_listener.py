from __future__ import annotations

import asyncio
import logging
import resource
import socket
import ssl
import tracemalloc

import pytest

from streams.engine.errors import ConfigError
from streams.formats.hl7.acknowledgement import Refusal
from streams.products.mllp.frames import (
    CHUNK_BYTES,
    MAX_GARBAGE_BYTES,
    SMALL_BYTES,
    START,
)
from streams.products.mllp.service import server_tls
from tests.streams.products.mllp.listening import (
    Stub,
    answers,
    connected,
    ended,
    framed,
    listening,
    message,
    send_by_hl7,
    until,
)

KEY = b"LAB|NORTH"


def test_a_message_of_another_library_is_stored_byte_for_byte_and_answered():
    async def scenario():
        async with listening() as found:
            answer = await send_by_hl7(found.port, message("77"))
        return found, answer

    found, answer = asyncio.run(scenario())

    assert found.publish.stored == [(KEY, message("77"))]
    assert (str(answer["MSA"][0][1]), str(answer["MSA"][0][2])) == ("AA", "77")
    assert found.count("answers_total", code="AA") == 1


def test_no_answer_is_sent_before_the_message_is_stored():
    async def scenario():
        stub = Stub()
        stub.answers = False
        async with listening(stub) as found, connected(found.port) as (reader, writer):
            writer.write(framed(message("1")))
            await until(lambda: stub.waiting)
            answer = asyncio.create_task(answers(reader))
            await asyncio.sleep(0.1)
            assert not answer.done()
            stub.waiting[0].set_result(None)
            return await answer

    assert asyncio.run(scenario()) == [("AA", "1")]


@pytest.mark.parametrize("refusal", [Refusal.NOT_STORED, Refusal.TOO_LARGE])
def test_what_kafka_does_not_store_is_answered_with_an_error(refusal):
    async def scenario():
        stub = Stub()
        stub.refusal = refusal
        async with listening(stub) as found, connected(found.port) as (reader, writer):
            writer.write(framed(message("1")))
            codes = await answers(reader)
            return codes, found.count("refused_total", why=refusal)

    assert asyncio.run(scenario()) == ([("AE", "1")], 1)


def test_when_kafka_is_silent_the_answer_is_an_error_in_time():
    async def scenario():
        stub = Stub()
        stub.answers = False
        async with (
            listening(stub, answer_seconds=1) as found,
            connected(found.port) as (reader, writer),
        ):
            writer.write(framed(message("1")))
            codes = await answers(reader)
            stub.answers = True
            writer.write(framed(message("2")))
            return codes + await answers(reader)

    assert asyncio.run(scenario()) == [("AE", "1"), ("AA", "2")]


def test_answers_come_in_the_order_of_the_messages():
    async def scenario():
        stub = Stub()
        stub.answers = False
        async with listening(stub) as found, connected(found.port) as (reader, writer):
            writer.write(b"".join(framed(message(str(n))) for n in range(5)))
            await until(lambda: len(stub.waiting) == 5)
            for each in reversed(stub.waiting):
                each.set_result(None)
            return await answers(reader, 5), [value for _, value in stub.stored]

    found, stored = asyncio.run(scenario())

    assert [("AA", str(n)) for n in range(5)] == found
    assert [message(str(n)) for n in range(5)] == stored


def test_no_more_messages_than_allowed_are_in_flight():
    async def scenario():
        stub = Stub()
        stub.answers = False
        async with (
            listening(stub, max_in_flight=3) as found,
            connected(found.port) as (reader, writer),
        ):
            writer.write(b"".join(framed(message(str(n))) for n in range(10)))
            await until(lambda: len(stub.waiting) == 3)
            await asyncio.sleep(0.1)
            most, stub.answers = len(stub.waiting), True
            for each in stub.waiting:
                each.set_result(None)
            return most, len(await answers(reader, 10))

    assert asyncio.run(scenario()) == (3, 10)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_message_may_come_in_any_pieces(size):
    value = framed(message("a", "OBX|1|TX\x1c|x\r" * 20)) + framed(message("b"))

    async def scenario():
        async with listening() as found, connected(found.port) as (reader, writer):
            for at in range(0, len(value), size):
                writer.write(value[at : at + size])
                await writer.drain()
                await asyncio.sleep(0)
            return await answers(reader, 2), len(found.publish.stored)

    assert asyncio.run(scenario()) == ([("AA", "a"), ("AA", "b")], 2)


def test_garbage_before_a_start_block_is_dropped_and_the_message_taken():
    async def scenario():
        async with listening() as found, connected(found.port) as (reader, writer):
            writer.write(b"\r\nGET / HTTP/1.1\r\n\x1c\r" + framed(message("1")))
            writer.write(b"\r\n" + framed(message("2")))
            return await answers(reader, 2)

    assert asyncio.run(scenario()) == [("AA", "1"), ("AA", "2")]


def test_endless_garbage_ends_the_connection():
    async def scenario():
        async with listening() as found, connected(found.port) as (reader, writer):
            writer.write(b"x" * (MAX_GARBAGE_BYTES + CHUNK_BYTES))
            before = await ended(reader)
            return before, found.count("connections_closed_total", why="garbage")

    assert asyncio.run(scenario()) == (b"", 1)


@pytest.mark.parametrize(
    ("value", "code", "why"),
    [
        (b"", ("AR", ""), "bad_msh"),
        (b"hello", ("AR", ""), "bad_msh"),
        (b"FHS|^~\\&\r" + message(), ("AR", ""), "bad_msh"),
        (message() + message("2"), ("AR", ""), "bad_msh"),
        (message().replace(b"|^~\\&|", b"|^^\\&|"), ("AR", ""), "bad_msh"),
        (message().replace(b"LAB", b"\xff"), ("AR", ""), "undecodable"),
        (message("1", "OBX|1\r\x0bMSH"), ("AR", "1"), "bad_frame"),
        (message("1", "OBX|1\r\x0bMSH|^~\\&|A"), ("AR", "1"), "bad_frame"),
    ],
)
def test_what_cannot_be_read_is_rejected_and_the_connection_goes_on(value, code, why):
    async def scenario():
        async with listening() as found, connected(found.port) as (reader, writer):
            writer.write(framed(value) + framed(message("9")))
            codes = await answers(reader, 2)
            assert found.count("refused_total", why=why) == 1
            return codes, found.publish.stored

    assert asyncio.run(scenario()) == ([code, ("AA", "9")], [(KEY, message("9"))])


def test_a_frame_over_the_limit_is_refused_at_once_and_never_kept():
    async def scenario():
        async with (
            listening(max_bytes=2**20) as found,
            connected(found.port) as (reader, writer),
        ):
            tracemalloc.start()
            writer.write(START + message("1"))
            block = b"x" * 2**16
            for n in range(2**10):  # 64 MB
                writer.write(block)
                await writer.drain()
                if n == 64:
                    early = await answers(reader)
            writer.write(b"\x1c\r" + framed(message("2")))
            after = await answers(reader)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return early, after, peak, len(found.publish.stored)

    early, after, peak, count = asyncio.run(scenario())

    assert (early, after, count) == ([("AE", "1")], [("AA", "2")], 1)
    assert peak < 8 * 2**20


@pytest.mark.parametrize("over", [-1, 0, 1, 2, 3])
def test_the_limit_is_exact(over):
    limit = SMALL_BYTES + 5000
    value = message("1", "OBX|")
    value += b"x" * (limit + over - len(value))

    async def scenario():
        async with (
            listening(max_bytes=limit) as found,
            connected(found.port) as (reader, writer),
        ):
            writer.write(framed(value) + framed(message("2")))
            return await answers(reader, 2)

    wanted = "AE" if over > 0 else "AA"
    assert asyncio.run(scenario()) == [(wanted, "1"), ("AA", "2")]


def test_half_a_frame_is_closed_after_its_time_and_disturbs_no_other():
    async def scenario():
        async with (
            listening(frame_seconds=0.3) as found,
            connected(found.port) as (half, writer),
            connected(found.port) as (reader, other),
        ):
            writer.write(framed(message("0")) + START + message("1")[:30])
            other.write(framed(message("2")))
            codes = await answers(half) + await answers(reader)
            assert await ended(half) == b""
            assert found.count("connections_closed_total", why="frame_time") == 1
            other.write(framed(message("3")))
            return codes + await answers(reader), len(found.publish.stored)

    codes = [("AA", "0"), ("AA", "2"), ("AA", "3")]
    assert asyncio.run(scenario()) == (codes, 3)


def test_bytes_in_drops_do_not_prolong_the_time_of_a_frame():
    async def scenario():
        async with (
            listening(frame_seconds=0.3) as found,
            connected(found.port) as (reader, writer),
        ):
            writer.write(START)
            while not found.count("connections_closed_total", why="frame_time"):
                writer.write(b"x")
                await asyncio.sleep(0.02)
            return await ended(reader)

    assert asyncio.run(scenario()) == b""


def test_an_idle_connection_is_closed_after_its_time():
    async def scenario():
        async with (
            listening(idle_seconds=0.2) as found,
            connected(found.port) as (reader, writer),
        ):
            writer.write(framed(message("1")))
            codes = await answers(reader)
            assert await ended(reader) == b""
            return codes, found.count("connections_closed_total", why="idle")

    assert asyncio.run(scenario()) == ([("AA", "1")], 1)


def test_a_thousand_idle_connections_do_not_disturb_a_sender():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3000:
        pytest.skip(f"needs 3,000 open files; the system allows {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3000), hard))

    async def scenario():
        async with listening() as found:
            idle = []
            for _ in range(1000):
                idle.append(socket.create_connection(("127.0.0.1", found.port)))
                await asyncio.sleep(0)
            try:
                await until(lambda: found.count("connections") == 1000)
                async with connected(found.port) as (reader, writer):
                    writer.write(framed(message("1")))
                    return await answers(reader)
            finally:
                for each in idle:
                    each.close()

    assert asyncio.run(scenario()) == [("AA", "1")]


def test_a_sender_that_reads_no_answers_is_closed_and_disturbs_no_other():
    async def scenario():
        async with listening(frame_seconds=0.5, max_in_flight=4) as found:
            deaf = socket.socket()
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            deaf.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(deaf, ("127.0.0.1", found.port))

            async def send():
                while True:
                    await loop.sock_sendall(deaf, framed(message("1")) * 50)

            sending = asyncio.create_task(send())
            async with connected(found.port) as (reader, writer):
                writer.write(framed(message("2")))
                codes = await answers(reader)
                await until(
                    lambda: found.count("connections_closed_total", why="unread")
                )
                writer.write(framed(message("3")))
                codes += await answers(reader)
            await asyncio.wait([sending], timeout=100)
            assert isinstance(sending.exception(), OSError)
            deaf.close()
            return codes

    assert asyncio.run(scenario()) == [("AA", "2"), ("AA", "3")]


def test_large_frames_wait_for_one_another_and_all_are_taken(monkeypatch):
    monkeypatch.setattr("streams.products.mllp.listener.LARGE_FRAMES_BYTES", 2**20)
    large = message("1", "OBX|" + "x" * 2**19)

    async def scenario():
        async with listening(max_bytes=2**20) as found:

            async def send():
                async with connected(found.port) as (reader, writer):
                    writer.write(framed(large))
                    return await answers(reader)

            return await asyncio.gather(*(send() for _ in range(5)))

    assert asyncio.run(scenario()) == [[("AA", "1")]] * 5


def test_a_large_frame_that_stays_half_sent_frees_its_place(monkeypatch):
    monkeypatch.setattr("streams.products.mllp.listener.LARGE_FRAMES_BYTES", 2**20)
    large = message("1", "OBX|" + "x" * 2**19)

    async def scenario():
        async with (
            listening(max_bytes=2**20, frame_seconds=0.5) as found,
            connected(found.port) as (_half, stuck),
            connected(found.port) as (reader, writer),
        ):
            stuck.write(START + large)
            await stuck.drain()
            await asyncio.sleep(0.1)
            writer.write(framed(large))
            return await answers(reader)

    assert asyncio.run(scenario()) == [("AA", "1")]


def test_a_sender_that_closes_its_side_still_gets_its_answers():
    async def scenario():
        async with listening() as found, connected(found.port) as (reader, writer):
            writer.write(framed(message("1")) + framed(message("2")) + START)
            writer.write_eof()
            codes = await answers(reader, 2)
            assert await ended(reader) == b""
            return codes, found.count("connections_closed_total", why="broken_off")

    assert asyncio.run(scenario()) == ([("AA", "1"), ("AA", "2")], 1)


def test_a_stop_answers_what_is_in_flight_and_nothing_more():
    async def scenario():
        stub = Stub()
        stub.answers = False
        async with (
            listening(stub) as found,
            connected(found.port) as (reader, writer),
            connected(found.port) as (idle, _),
        ):
            writer.write(framed(message("1")) + START + b"MSH")
            await until(lambda: stub.waiting)
            stopping = asyncio.create_task(found.listener.stop())
            assert await ended(idle) == b""
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", found.port)
            stub.waiting[0].set_result(None)
            codes = await answers(reader)
            await stopping
            assert await ended(reader) == b""
            return codes, found.count("connections_closed_total", why="stopped")

    assert asyncio.run(scenario()) == ([("AA", "1")], 2)


def test_an_acknowledgement_is_neither_stored_nor_answered():
    ack = message("1").replace(b"ORU^R01", b"ACK^R01")

    async def scenario():
        async with listening() as found, connected(found.port) as (reader, writer):
            writer.write(framed(ack) + framed(message("2")))
            return await answers(reader), found.publish.stored

    assert asyncio.run(scenario()) == ([("AA", "2")], [(KEY, message("2"))])


@pytest.mark.parametrize(
    ("allow", "is_allowed"),
    [
        (["127.0.0.1"], True),
        (["127.0.0.0/8", "10.0.0.0/8"], True),
        (["10.0.0.0/8", "::1"], False),
        ([], False),
    ],
)
def test_only_allowed_addresses_are_served(allow, is_allowed):
    async def scenario():
        async with (
            listening(allow=allow) as found,
            connected(found.port) as (reader, writer),
        ):
            writer.write(framed(message("1")))
            if is_allowed:
                return await answers(reader) == [("AA", "1")]
            assert await ended(reader) == b""
            assert found.publish.stored == []
            return not found.count("connections_closed_total", why="address")

    assert is_allowed == asyncio.run(scenario())


def test_an_ipv4_sender_of_a_listener_on_ipv6_is_known_by_its_own_address():
    async def scenario():
        async with listening() as found:
            allowed = found.listener._is_allowed
            return [allowed(f"::ffff:{each}") for each in ("127.0.0.1", "10.0.0.1")]

    assert asyncio.run(scenario()) == [True, False]


@pytest.mark.parametrize(
    ("senders", "code"),
    [
        (["LAB|NORTH"], "AA"),
        (["WARD|X", "LAB|NORTH"], "AA"),
        (["LAB|SOUTH"], "AR"),
        (["LAB^1.2|NORTH"], "AR"),
        (["|"], "AR"),
    ],
)
def test_only_allowed_senders_are_stored(senders, code):
    async def scenario():
        async with (
            listening(senders=senders) as found,
            connected(found.port) as (reader, writer),
        ):
            writer.write(framed(message("1")))
            return await answers(reader), len(found.publish.stored)

    assert asyncio.run(scenario()) == ([(code, "1")], int(code == "AA"))


def test_connections_over_the_limit_are_closed_and_the_others_stay():
    async def scenario():
        async with (
            listening(max_connections=1) as found,
            connected(found.port) as (reader, writer),
        ):
            await until(lambda: found.count("connections") == 1)
            async with connected(found.port) as (second, _):
                assert await ended(second) == b""
            writer.write(framed(message("1")))
            return await answers(reader), found.count(
                "connections_closed_total", why="too_many"
            )

    assert asyncio.run(scenario()) == ([("AA", "1")], 1)


def test_a_bug_ends_its_connection_alone_and_shows_no_value(caplog):
    class Broken(Stub):
        async def __call__(self, key, value):
            if b"|bug|" in value:
                raise ValueError(value.decode())
            return await super().__call__(key, value)

    async def scenario():
        async with (
            listening(Broken()) as found,
            connected(found.port) as (bad, writer),
            connected(found.port) as (reader, other),
        ):
            writer.write(framed(message("bug")))
            assert await ended(bad) == b""
            other.write(framed(message("1")))
            codes = await answers(reader)
            return codes, found.count("connections_closed_total", why="bug")

    with caplog.at_level(logging.DEBUG):
        assert asyncio.run(scenario()) == ([("AA", "1")], 1)
    assert "ended by a bug" in caplog.text
    assert not any("ZZMARKER" in each.getMessage() for each in caplog.records)


def test_an_address_in_use_is_a_wrong_setting():
    async def scenario():
        async with listening() as found, listening(port=found.port):
            pass

    with pytest.raises(ConfigError, match=r"mllp\.port"):
        asyncio.run(scenario())


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Files in PEM of a hospital's authority, and of a stranger's."""
    trustme = pytest.importorskip("trustme")
    folder = tmp_path_factory.mktemp("tls")
    for name in ("own", "other"):
        authority = trustme.CA()
        authority.cert_pem.write_to_path(folder / f"{name}-ca.pem")
        issued = authority.issue_cert("127.0.0.1", common_name=name)
        issued.private_key_pem.write_to_path(folder / f"{name}.key")
        with (folder / f"{name}.pem").open("wb") as chain:
            chain.writelines(each.bytes() for each in issued.cert_chain_pems)
    return folder


def tls_of(folder, client_ca=None):
    from streams.products.mllp.settings import MllpSettings

    files = {"tls_certificate": folder / "own.pem", "tls_key": folder / "own.key"}
    if client_ca:
        files["tls_client_ca"] = folder / client_ca
    return server_tls(MllpSettings.model_validate(files))


def client_of(folder, certificate=None):
    context = ssl.create_default_context(cafile=folder / "own-ca.pem")
    if certificate:
        context.load_cert_chain(
            folder / f"{certificate}.pem", folder / f"{certificate}.key"
        )
    return context


@pytest.mark.parametrize(
    ("client_ca", "certificate", "is_served"),
    [
        (None, None, True),
        ("own-ca.pem", "own", True),
        ("own-ca.pem", None, False),
        ("own-ca.pem", "other", False),
    ],
)
def test_tls_serves_whom_its_authority_signed(
    certificates, client_ca, certificate, is_served
):
    async def scenario():
        server = tls_of(certificates, client_ca)
        async with listening(tls=server) as found:
            client = client_of(certificates, certificate)
            try:
                async with connected(found.port, client) as (reader, writer):
                    writer.write(framed(message("1")))
                    codes = await answers(reader)
            except (OSError, asyncio.IncompleteReadError):
                codes = []
            return codes, len(found.publish.stored)

    wanted = ([("AA", "1")], 1) if is_served else ([], 0)
    assert wanted == asyncio.run(scenario())


def test_plain_text_is_not_served_where_tls_is(certificates):
    async def scenario():
        async with (
            listening(tls=tls_of(certificates)) as found,
            connected(found.port) as (reader, writer),
        ):
            writer.write(framed(message("1")))
            await ended(reader)
            return found.publish.stored

    assert asyncio.run(scenario()) == []


def test_connections_without_a_handshake_count_as_others(certificates):
    async def scenario():
        tls = tls_of(certificates)
        async with (
            listening(tls=tls, max_connections=2) as found,
            connected(found.port),
            connected(found.port),
            connected(found.port) as (third, _),
        ):
            await ended(third)
            return found.count("connections"), found.publish.stored

    assert asyncio.run(scenario()) == (2, [])


def test_large_messages_pass_through_tls(certificates):
    client = client_of(certificates)
    large = message("1") + b"NTE|1||" + b"x" * 8_000_000 + b"\r"

    async def scenario():
        async with (
            listening(tls=tls_of(certificates)) as found,
            connected(found.port, client) as (reader, writer),
        ):
            for _ in range(3):
                writer.write(framed(large))
                await writer.drain()
                await reader.readuntil(b"\x1c\r")
            return [len(value) for _, value in found.publish.stored]

    assert asyncio.run(scenario()) == ([len(large)] * 3)


def test_an_encrypted_key_is_refused_instead_of_asked_for(certificates, tmp_path):
    serialization = pytest.importorskip(
        "cryptography.hazmat.primitives.serialization", exc_type=ImportError
    )
    key = serialization.load_pem_private_key(
        (certificates / "own.key").read_bytes(), None
    )
    (tmp_path / "own.pem").write_bytes((certificates / "own.pem").read_bytes())
    (tmp_path / "own.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )

    with pytest.raises(ConfigError, match=r"mllp\.tls_key: is encrypted"):
        tls_of(tmp_path)


def test_files_of_tls_that_cannot_be_used_are_named_by_their_setting(certificates):
    (certificates / "empty.pem").write_text("")
    with pytest.raises(ConfigError, match=r"mllp\.tls_client_ca"):
        tls_of(certificates, "absent.pem")
    with pytest.raises(ConfigError, match=r"mllp\.tls_client_ca"):
        tls_of(certificates, "empty.pem")
