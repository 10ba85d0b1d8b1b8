"""Put on PYTHONPATH by tests of faults: code of the service that breaks.

It is in the processes of the service alone, by way of Python's own start-up hook; the
product knows nothing of it.  For text that holds `MARK` it does what is in
TESTS_FAULT; in scrub, if that is `named`, what follows the mark.  At TESTS_PLACE
`steps` TESTS_FAULT is a folder: a producer stops its process (SIGSTOP) at the step of a
transaction that a file there names, as in `GROUP-scrub-0 before commit`.
"""

import ctypes
import importlib.abc
import importlib.machinery
import os
import re
import resource
import signal
import sys
import time
from pathlib import Path

MARK = "zzpoisonzz"
HELD = []


def loop():
    while True:
        pass


def pattern():
    # Python looks at signals now and then while a pattern backtracks.
    re.compile(r"(a+)+$").search("a" * 60 + "b")


def kernel():
    import numba

    @numba.njit
    def spin(number):
        while number >= 0:
            number = (number * 3 + 1) % 1_000_003
        return number

    spin(7)


def segfault():
    ctypes.string_at(8)


def memory():
    """Take all that RLIMIT_AS leaves, keep it, and hide what was raised."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    used = pages * resource.getpagesize()
    limit = used + 256 * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        for power in range(26, 8, -1):
            while True:
                try:
                    HELD.append(bytearray(1 << power))
                except MemoryError:
                    break
    finally:
        HELD.append(bytearray(1 << 26))


def ends():
    os._exit(3)


def hangs():
    """Neither computes nor returns: no limit of CPU time sees it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    while True:
        time.sleep(3600)


def slow():
    """Take longer than a transaction may, without computing."""
    time.sleep(3)


class Poison:
    name = "poison"
    reads_as_written = False

    def __call__(self, documents):
        for document in documents:
            if found := re.search(rf"{MARK}(\w*)", document.text):
                fault = os.environ["TESTS_FAULT"]
                globals()[found[1] if fault == "named" else fault]()
        return [[] for _ in documents]


def poison_scrub(module):
    class Deidentifier(module.Deidentifier):
        def __init__(self, detectors, *arguments, **options):
            super().__init__([*detectors, Poison()], *arguments, **options)

    module.Deidentifier = Deidentifier


def poison_intake(module):
    inner = module.route

    def route(value, **options):
        if MARK.encode() in (value or b""):
            globals()[os.environ["TESTS_FAULT"]]()
        return inner(value, **options)

    module.route = route


def poison_update(module):
    inner = module.fold

    def fold(known, update):
        if any(MARK in name.family for name in update.record.current.names):
            globals()[os.environ["TESTS_FAULT"]]()
        return inner(known, update)

    module.fold = fold


def poison_watch(module):
    inner = module.counts_of

    def counts_of(topic, value, headers, at_ms):
        if MARK.encode() in (value or b""):
            globals()[os.environ["TESTS_FAULT"]]()
        return inner(topic, value, headers, at_ms)

    module.counts_of = counts_of


STEPS = ("begin", "produce", "send_offsets", "commit")


def stop_at_steps(module):
    folder = Path(os.environ["TESTS_FAULT"])

    def stop_if_asked(producer, step):
        try:
            (folder / f"{producer.transactional_id} {step}").unlink()
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGSTOP)

    def stopping(name, inner):
        def call(self, *arguments):
            stop_if_asked(self, f"before {name}")
            result = inner(self, *arguments)
            stop_if_asked(self, f"after {name}")
            return result

        return call

    class KafkaProducer(module.KafkaProducer):
        def __init__(self, settings, transactional_id, *arguments, **options):
            self.transactional_id = transactional_id
            super().__init__(settings, transactional_id, *arguments, **options)

    for name in STEPS:
        inner = getattr(module.KafkaProducer, name)
        setattr(KafkaProducer, name, stopping(name, inner))
    module.KafkaProducer = KafkaProducer


PLACES = {
    "scrub": ("streams.service.scrub", poison_scrub),
    "intake": ("streams.pipeline.intake.processor", poison_intake),
    "update": ("streams.pipeline.scrub.join", poison_update),
    "gateway": ("streams.products.gateway.scrubbing", poison_scrub),
    "steps": ("streams.kafka.producer", stop_at_steps),
    "watch": ("streams.operations.watch.topic_counter", poison_watch),
}


class Finder(importlib.abc.MetaPathFinder):
    """Finds one module as ever, and changes it once it is loaded."""

    def __init__(self, name, change):
        self.name, self.change = name, change

    def find_spec(self, name, path, target=None):
        if name != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        spec.loader = Loader(spec.loader, self.change)
        return spec


class Loader(importlib.abc.Loader):
    def __init__(self, inner, change):
        self.inner, self.change = inner, change

    def create_module(self, spec):
        return self.inner.create_module(spec)

    def exec_module(self, module):
        self.inner.exec_module(module)
        self.change(module)


if os.environ.get("TESTS_FAULT"):
    sys.meta_path.insert(0, Finder(*PLACES[os.environ.get("TESTS_PLACE", "scrub")]))
