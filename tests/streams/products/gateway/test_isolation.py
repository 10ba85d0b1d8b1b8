"""A request that hangs or ends its worker does not stop the others."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.poison import MARK, faulty
from tests.streams.products.gateway.serving import serving

pytestmark = pytest.mark.timeout(300)

POISON = {"id": "1", "text": f"Seen today, well. {MARK}"}
GOOD = {"id": "2", "text": "Mr. John Smith was seen."}
LIMITS = {
    "preset": "lexical",
    "note_seconds": 1,
    "note_seconds_per_mb": 0,
    "gateway__request_seconds": 6,
}


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("loop", 503, "deadline"),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                ("pattern", 503, "deadline"),
                ("kernel", 503, "deadline"),
                ("hangs", 503, "deadline"),
                ("segfault", 500, "poison"),
                ("memory", 500, "poison"),
            )
        ),
    ],
)
def test_only_the_request_that_breaks_a_worker_fails(tmp_path, fault, status, code):
    with (
        faulty(fault, "gateway"),
        serving(tmp_path, "--workers", "2", **LIMITS | {"note_seconds": 3}) as ours,
    ):
        with ThreadPoolExecutor(1) as thread:
            broken = thread.submit(ours.post, "/v1/notes", POISON)
            time.sleep(0.3)
            others = [ours.post("/v1/notes", GOOD) for _ in range(5)]
            took_over = not broken.done() or status == 500
            answer = broken.result()
        time.sleep(1)
        again = [ours.post("/v1/notes", GOOD) for _ in range(5)]
        lost = ours.metric("phistream_gateway_lost_workers_total")
        log = ours.log.read_text()

    assert (status, code) == (answer.status, answer.code)
    assert {each.status for each in others + again} == {200}
    assert took_over
    assert lost == 1
    assert MARK not in log


def test_with_one_worker_others_wait_for_the_next_one(tmp_path):
    with (
        faulty("loop", "gateway"),
        serving(tmp_path, "--workers", "1", **LIMITS) as ours,
        ThreadPoolExecutor(1) as thread,
    ):
        broken = thread.submit(ours.post, "/v1/notes", POISON)
        time.sleep(0.3)
        other = ours.post("/v1/notes", GOOD)
        answer = broken.result()

    assert (answer.status, other.status) == (503, 200)


def test_who_waits_too_long_for_a_worker_is_sent_away(tmp_path):
    limits = LIMITS | {"note_seconds": 5, "gateway__wait_seconds": 0.5}
    with (
        faulty("loop", "gateway"),
        serving(tmp_path, "--workers", "1", **limits) as ours,
        ThreadPoolExecutor(1) as thread,
    ):
        broken = thread.submit(ours.post, "/v1/notes", POISON)
        time.sleep(1)
        other = ours.post("/v1/notes", GOOD)
        answer = broken.result()

    assert (
        other.status,
        other.code,
        other.headers["Retry-After"],
    ) == (503, "overloaded", "1")
    assert answer.code == "deadline"
