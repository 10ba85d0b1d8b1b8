"""Faults of processes, brokers and the network on one feed, in random order."""

from __future__ import annotations

from tests.faults import brokers, network, processes
from tests.faults.scenarios import faults_of, scenario

KINDS = {
    "worker killed": lambda run: run.kill_worker(*_slot(run)),
    "worker killed inside": lambda run: run.kill_worker_inside(*_slot(run)),
    "worker frozen": lambda run: processes.freeze(run, *_slot(run)),
    "supervisor killed": lambda run: processes.kill_supervisor(run, *_slot(run)),
    "service stopped": lambda run: processes.terminate(run, *_slot(run)),
    "broker killed": brokers.kill_one,
    "broker frozen": brokers.freeze_one,
    "all brokers killed": brokers.kill_all,
    "coordinator of a group": lambda run: brokers.kill_coordinator(run, of_group=True),
    "coordinator of ids": lambda run: brokers.kill_coordinator(run, of_group=False),
    "brokers restarted": brokers.restart_in_order,
    "network slow": network.slow,
    "network cut": lambda run: network.cut(run, everywhere=True),
    "network partly cut": lambda run: network.cut(run, everywhere=False),
    "answer lost": network.lose_an_end,
}


@scenario(
    brokers=3,
    settings={"rebuild_messages": True},
    effects={"kinds of faults": "", "inside of a transaction": ""},
)
def mixed(run):
    """Each kind of fault of processes, brokers and the network, in random order."""
    network.start(run)
    for number in run.moments(max(len(KINDS), faults_of(run, 2 * len(KINDS)))):
        turn = (number - 1) % len(KINDS)
        if turn == 0:
            kinds = run.rng.sample(sorted(KINDS), len(KINDS))
        # The next one may come before all have recovered, but not before any has.
        run.wait_for_progress()
        KINDS[kinds[turn]](run)
        run.effect("kinds of faults")


def _slot(run):
    return run.rng.choice(processes.SLOTS)
