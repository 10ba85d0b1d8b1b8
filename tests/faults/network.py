"""Faults of the network between clients and brokers, by a proxy on loopback."""

from __future__ import annotations

import time

from tests.faults.scenarios import faults_of, scenario


def start(run):
    run.use_proxies()
    run.start()


def hits(run):
    return sum(each.hit for each in run.cluster.proxies.values())


@scenario(effects={"frames delayed": ""})
def network_slow(run):
    """Every request and answer takes up to 300 ms longer for a while."""
    start(run)
    run.seen.must_abort = False
    for _ in run.moments(faults_of(run, 6)):
        slow(run)


def slow(run):
    for proxy in run.cluster.proxies.values():
        proxy.delay = run.rng.uniform(0.02, 0.3)
    run.fault("slow network")
    before = hits(run)
    time.sleep(run.rng.uniform(3, 10))
    run.effect("frames delayed", hits(run) - before)
    for proxy in run.cluster.proxies.values():
        proxy.delay = 0.0


@scenario(effects={"connections cut and frames held": ""})
def network_cut(run):
    """Connections to one broker or to all are cut, or swallow everything."""
    start(run)
    run.seen.must_abort = False
    for number in run.moments(faults_of(run, 8)):
        cut(run, everywhere=bool(number % 2))
        run.wait_for_progress()


def cut(run, *, everywhere):
    proxies = list(run.cluster.proxies.values())
    hit = proxies if everywhere else [run.rng.choice(proxies)]
    is_cut = run.rng.random() < 0.5
    before = hits(run)
    for proxy in hit:
        proxy.cut() if is_cut else proxy.silence()
    where = "all brokers" if everywhere else "one broker"
    run.fault(f"{where} {'cut' if is_cut else 'silent'}")
    # Some of them longer than sessions, transactions and calls may take.
    time.sleep(run.rng.choice([0.5, 3, 8, 18]))
    run.effect("connections cut and frames held", hits(run) - before)
    for proxy in hit:
        proxy.mend()


@scenario(effects={"answers lost": ""})
def end_txn_lost(run):
    """The broker ends a transaction, and its answer is lost with the connection."""
    start(run)
    run.seen.must_abort = False
    for _ in run.moments(faults_of(run, 12)):
        lose_an_end(run)


def lose_an_end(run):
    def lost():
        return sum(each.lost for each in run.cluster.proxies.values())

    before = lost()
    for proxy in run.cluster.proxies.values():
        proxy.to_lose = 1
    run.wait_for(lambda: lost() > before)
    run.fault("answer to EndTxn lost")
    for proxy in run.cluster.proxies.values():
        proxy.to_lose = 0
    run.effect("answers lost", lost() - before)
