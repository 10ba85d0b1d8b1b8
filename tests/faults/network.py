"""Faults of the network between clients and brokers, by a proxy on loopback."""

from __future__ import annotations

import time

from tests.faults.scenarios import faults_of, scenario


def start(run):
    run.use_proxies()
    run.start()


@scenario()
def network_slow(run):
    """Every request and answer takes up to 300 ms longer for a while."""
    start(run)
    run.must_abort = False
    for _ in run.moments(faults_of(run, 6)):
        for proxy in run.cluster.proxies.values():
            proxy.delay = run.rng.uniform(0.02, 0.3)
        run.fault("slow network")
        time.sleep(run.rng.uniform(3, 10))
        for proxy in run.cluster.proxies.values():
            proxy.delay = 0.0


@scenario()
def network_cut(run):
    """Connections to one broker or to all are cut, or swallow everything."""
    start(run)
    run.must_abort = False
    for number in run.moments(faults_of(run, 8)):
        proxies = list(run.cluster.proxies.values())
        hit = proxies if number % 2 else [run.rng.choice(proxies)]
        is_cut = run.rng.random() < 0.5
        for proxy in hit:
            proxy.cut() if is_cut else proxy.silence()
        where = "all brokers" if number % 2 else "one broker"
        run.fault(f"{where} {'cut' if is_cut else 'silent'}")
        # Some of them longer than sessions, transactions and calls may take.
        time.sleep(run.rng.choice([0.5, 3, 8, 18]))
        for proxy in hit:
            proxy.mend()
        run.wait_for_progress()


@scenario()
def end_txn_lost(run):
    """The broker ends a transaction, and its answer is lost with the connection."""
    start(run)
    run.must_abort = False
    for _ in run.moments(faults_of(run, 12)):
        before = sum(each.lost for each in run.cluster.proxies.values())
        for proxy in run.cluster.proxies.values():
            proxy.to_lose = 1
        run.wait_for(
            lambda seen=before: (
                sum(each.lost for each in run.cluster.proxies.values()) > seen
            )
        )
        run.fault("answer to EndTxn lost", count=0)
        for proxy in run.cluster.proxies.values():
            proxy.to_lose = 0
    run.injected["answer to EndTxn lost"] = sum(
        each.lost for each in run.cluster.proxies.values()
    )
