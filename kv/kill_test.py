#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kv/kill_test.py: kills hatkv with SIGKILL at random moments while clients write, and looks for lost writes.

usage: kill_test.py HATKV STUBS [--kills N] [--seed N]

Four clients call put, multiput and remove. After each kill, the test starts the server again on the same store and
compares every key: the store must have each acknowledged write, and must have a write that was in flight completely or
not at all. By default there are 12 kills with `--durability sync` and 3 kills with each weaker level; docs/hatkv.md
reports a run with `--kills 200`.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
import unittest

from running import Server, WAIT_S, client
from hatkv.ttypes import Pair
from thrift.transport.TTransport import TTransportException

WRITERS = 4
KEYS = 60  # keys of each writer
LEVELS = ["sync", "nometasync", "everysec", "nosync"]
OPTIONS = argparse.Namespace(kills=12, seed=1)


class Writer:
    """One client. It records the changes that the server has acknowledged, and those of the call in flight."""

    def __init__(self, number, seed):
        self.prefix = f"w{number}/".encode()
        self.random = random.Random(seed * 1000 + number)
        self.sure = {}  # value by key; None: removed
        self.in_flight = {}
        self.acknowledged = 0
        self.counter = 0

    def choose(self):
        """Returns the changes of the next call."""
        self.counter += 1
        keys = [self.prefix + b"%d" % self.random.randrange(KEYS)
                for _ in range(self.random.choice([1, 1, 1, 8]))]
        if len(keys) == 1 and self.random.random() < 0.2:
            return {keys[0]: None}
        value = b"%d/" % self.counter + b"v" * self.random.randrange(2000)
        return dict.fromkeys(keys, value)

    def call(self, calls):
        self.in_flight = self.choose()
        (key, value), *more = self.in_flight.items()
        if value is None:
            calls.remove(key)
        elif more:
            calls.multiput([Pair(*item) for item in self.in_flight.items()])
        else:
            calls.put(key, value)
        self.sure.update(self.in_flight)
        self.in_flight = {}
        self.acknowledged += 1

    def run(self, socket_path):
        """Makes calls until the server has been killed."""
        try:
            with client(socket_path) as calls:
                while True:
                    self.call(calls)
        except (TTransportException, OSError):
            pass

    def compare(self, calls):
        """Returns a sentence for each lost write. After that, the found values are the expected values."""
        keys = [self.prefix + b"%d" % number for number in range(KEYS)]
        found = {key: one.value if one.found else None
                 for key, one in zip(keys, calls.multiget(keys))}
        without = {key: self.sure.get(key) for key in keys}
        with_in_flight = {**without, **self.in_flight}
        self.sure, self.in_flight = found, {}
        if found in (without, with_in_flight):
            return []
        return [f"{key}: found {str(found[key])[:20]}, acknowledged {str(without[key])[:20]}, "
                f"in flight {str(with_in_flight[key])[:20]}"
                for key in keys if found[key] not in (without[key], with_in_flight[key])
                ] or ["a call in flight was made in part"]


class KilledServer(unittest.TestCase):
    def kill_once(self, server, writers, moments):
        """Lets the clients write, kills the server and starts it again. Returns a sentence for each lost write."""
        before = sum(writer.acknowledged for writer in writers)
        threads = [threading.Thread(target=writer.run, args=[server.socket]) for writer in writers]
        for thread in threads:
            thread.start()
        end = time.monotonic() + WAIT_S
        while sum(writer.acknowledged for writer in writers) == before:
            self.assertLess(time.monotonic(), end, "the server acknowledged no write")
            time.sleep(0.001)
        time.sleep(moments.random() * 0.15)
        server.kill()
        for thread in threads:
            thread.join(WAIT_S)
            self.assertFalse(thread.is_alive())
        server.start()
        with client(server.socket) as calls:
            return [what for writer in writers for what in writer.compare(calls)]

    def kill_often(self, level, kills):
        moments = random.Random(OPTIONS.seed)
        writers = [Writer(number, OPTIONS.seed) for number in range(WRITERS)]
        lost = []
        with tempfile.TemporaryDirectory(prefix="hatkv-kill-") as folder, \
                Server(folder, "--durability", level, "--map-bytes", "65536") as server:
            for _ in range(kills):
                lost += self.kill_once(server, writers, moments)
            commits = sum(writer.acknowledged for writer in writers)
        print(f"{level}: {kills} kills (seed {OPTIONS.seed}), {commits} writes acknowledged, "
              f"{len(lost)} lost", file=sys.stderr)
        return lost

    def test_sync_loses_nothing(self):
        self.assertEqual(self.kill_often("sync", OPTIONS.kills), [])

    def test_no_weaker_level_loses_to_the_end_of_a_process(self):
        for level in LEVELS[1:]:
            with self.subTest(level):
                self.assertEqual(self.kill_often(level, max(1, OPTIONS.kills // 4)), [])

    def test_a_lost_write_would_be_seen(self):
        with tempfile.TemporaryDirectory(prefix="hatkv-kill-") as folder, Server(folder) as server, \
                client(server.socket) as calls:
            writer = Writer(0, 1)
            for _ in range(50):
                writer.call(calls)
            self.assertEqual(writer.compare(calls), [])
            there = [key for key, value in writer.sure.items() if value is not None]
            calls.remove(there[0])  # a change that the writer has not recorded
            self.assertEqual(len(writer.compare(calls)), 1)
            writer.in_flight = {there[1]: b"new", there[2]: b"new"}
            calls.put(there[1], b"new")
            self.assertEqual(writer.compare(calls), ["a call in flight was made in part"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    OPTIONS, rest = parser.parse_known_args(sys.argv[3:])
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
