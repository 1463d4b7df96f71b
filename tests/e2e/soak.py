#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/soak.py: runs a mixed load for a given time. Meanwhile lanes break, links are cut and jammed, daemons
restart, and manifests change.

Each call must get exactly one answer: the server's, or an exception of hatrpcd's own. The server must not execute a
oneway call twice (the server counts them by id). Memory and descriptors of the daemon that is not restarted (host-a)
must not grow.

  tests/e2e/soak.py build/release/bin build/release/e2e 600              runs for ten minutes
  tests/e2e/soak.py build/release/bin build/release/e2e rings 600        client and server use rings
  tests/e2e/soak.py build/release/bin build/release/e2e shared 600       clients share connections to the server
  tests/e2e/soak.py build/release/bin build/release/e2e hostile 1000000calls
                                        runs until 1,000,000 calls are answered, beside clients that send
                                        malformed bytes, and beside slow clients of a slow server
"""

import collections
import contextlib
import multiprocessing
import os
import pathlib
import random
import re
import socket
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "scenarios"))
UNTIL = sys.argv.pop() if len(sys.argv) > 3 else "60"
CALLS = int(UNTIL.removesuffix("calls")) if UNTIL.endswith("calls") else None
SECONDS = float("inf") if CALLS else float(UNTIL)
RINGS, SHARED, HOSTILE = (word in sys.argv[3:] for word in ("rings", "shared", "hostile"))
from lanes_test import Load, by_rdma, fallbacks  # noqa: E402
from nodes import ask  # noqa: E402
from setting import Client, probe_nodes, start_server  # noqa: E402

RESTART_SECONDS = 20
CUT_SECONDS = 7
JAM_SECONDS, JAM = 45, 4  # the link is jammed every 45 s, for 4 s: longer than limits.keepalive_timeout
FAULTS = {"kind": "loop", "faults": {"cut_within": 4000}}  # breaks about one lane a second
EXPECTED = {"link_lost", "peer_unreachable", "draining", "upstream_closed"}
# `drain_timeout` is short: a server that waits for the rest of a hostile request delays each restart by this time.
LIMITS = {"lane_settle": "10ms", "peer_wait": "10s", "drain_timeout": "3s"}
PROCESSES = 2  # processes that run clients
HOSTILE_CLIENTS = 4
SLOW_CLIENTS = 6
SLOW_REPLY, SLOW_CALLS, SLOW_MS = 400_000, 3, 300
# How much host-a's resident memory may grow, in MiB: until the end (GROWTH), and at any time during the run (PEAK).
GROWTH_MIB, PEAK_MIB = 4, 16


class Totals:
    """Client processes, and the sums of their results."""

    def __init__(self, address):
        self.answered, self.refused, self.wrong, self.notes, self.ended = 0, collections.Counter(), [], [], 0
        self.going = multiprocessing.Event()
        self.counts = [multiprocessing.Value("q") for _ in range(PROCESSES)]
        self.pipes, self.processes = [], []
        for number in range(PROCESSES):
            ours, theirs = multiprocessing.Pipe()
            self.pipes.append(ours)
            self.processes.append(multiprocessing.Process(target=self.run, args=[address, number, theirs]))
            self.processes[-1].start()

    def run(self, address, number, pipe):
        load = Load(None, address=address, first=number)
        while not self.going.wait(0.2):
            self.counts[number].value = load.answered
        load.end()
        pipe.send((load.answered, load.refused, load.wrong, load.notes, load.ended))

    def so_far(self):
        return sum(count.value for count in self.counts)

    def end(self):
        self.going.set()
        for pipe, process in zip(self.pipes, self.processes):
            answered, refused, wrong, notes, ended = pipe.recv()
            self.answered += answered
            self.refused += refused
            self.wrong += wrong
            self.notes += notes
            self.ended += ended
            process.join()


def message(name, kind, seqid, fields=b"\0"):
    return struct.pack(">II", 0x80010000 | kind, len(name)) + name + struct.pack(">i", seqid) + fields


def frame(*messages):
    body = b"".join(messages)
    return struct.pack(">I", len(body)) + body


def attack(chance):
    """Returns a hostile client's bytes: random bytes, malformed messages, or an unusual order of valid messages."""
    call, oneway = 1, 4
    add = message(b"add", call, chance.choice([0, 7, -1]), b"\x08\0\x01\0\0\0\x01\x08\0\x02\0\0\0\x02\0")
    return chance.choice([
        lambda: os.urandom(chance.randrange(1, 3000)),
        lambda: b"GET / HTTP/1.1\r\nHost: hostile\r\n\r\n",
        lambda: frame(add)[:chance.randrange(1, len(frame(add)))],
        lambda: frame(add, add, message(b"note", oneway, 1)),
        lambda: frame(add, message(b"n" * 256, call, 1)),
        lambda: frame(message(b"add", oneway, 0, add[15:])) * 20,
        lambda: frame(message(b"nobody_lists_this", call, 0)) * chance.randrange(1, 50),
        lambda: struct.pack(">I", chance.randrange(1 << 20, 1 << 30)) + add,
        lambda: frame(add) * 2000,
        lambda: frame(message(b"add", call, 0, b"\x0f\0\x01\x08\0\0\0\x7f" + add)),
    ])()


class Hostile:
    """Clients that send hostile bytes, and then disconnect in the middle or stay connected without reading."""

    def __init__(self, address):
        host, _, port = address.removeprefix("tcp:").rpartition(":")
        self.to = (host, int(port))
        self.going, self.connections = True, 0
        self.threads = [threading.Thread(target=self.run, args=[i]) for i in range(HOSTILE_CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        chance = random.Random(number)
        while self.going:
            with contextlib.suppress(OSError), socket.create_connection(self.to, timeout=1) as one:
                self.connections += 1
                for _ in range(chance.randrange(1, 4)):
                    one.sendall(attack(chance))
                    if chance.random() < 0.5:
                        one.recv(65536)
                if chance.random() < 0.3:
                    one.shutdown(socket.SHUT_WR)
                time.sleep(chance.random() / 5)

    def end(self):
        self.going = False
        for thread in self.threads:
            thread.join()


class Slow:
    """Clients that send all calls at once and read the replies slowly. The server answers the first call late."""

    def __init__(self, address):
        host, _, port = address.removeprefix("tcp:").rpartition(":")
        self.to = (host, int(port))
        self.going, self.answered, self.wrong = True, 0, []
        self.threads = [threading.Thread(target=self.run, args=[i]) for i in range(SLOW_CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        while self.going:
            with contextlib.suppress(OSError), socket.socket() as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                one.settimeout(30)
                one.connect(self.to)
                size = SLOW_REPLY + number
                one.sendall(frame(message(b"slow", 1, 1, struct.pack(">bhib", 8, 1, SLOW_MS, 0))))
                for call in range(SLOW_CALLS):
                    one.sendall(frame(message(b"produce", 1, 2 + call, struct.pack(">bhib", 8, 1, size, 0))))
                self.read(one, 1, message(b"slow", 2, 1, struct.pack(">bhib", 8, 0, SLOW_MS, 0)))
                blob = bytes(i % 251 for i in range(size))
                for call in range(SLOW_CALLS):
                    self.read(one, 1 << 15, message(b"produce", 2, 2 + call, struct.pack(">bhi", 11, 0, size) +
                                                    blob + b"\0"))

    def read(self, one, part, reply):
        """Reads one reply in parts and counts it; raises an OSError if the connection has ended."""
        got, end = bytearray(), 4
        while len(got) < end:
            more = one.recv(min(part, end - len(got)))
            if not more:
                raise ConnectionError
            got += more
            if len(got) == end == 4:
                end += struct.unpack(">I", got)[0]
            time.sleep(0.02 if part > 1 else 0)
        if got[4:] == reply:
            self.answered += 1
        elif got[7] != 3:  # the message type 3 is an exception, which hatrpcd may send
            self.wrong.append(bytes(got[:80]))
            raise ConnectionError

    def end(self):
        self.going = False
        for thread in self.threads:
            thread.join()


def resident_mib(node):
    """Returns the daemon's anonymous resident memory in MiB.

    This does not include the registered memory of lanes, which has a fixed size and becomes resident page by page.
    """
    status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024


def descriptors(node):
    return len(list(pathlib.Path(f"/proc/{node.process.pid}/fd").iterdir()))


def failures(node):
    return sum(lane["failures"] for link in node.get("/status")["links"] for lane in link["lanes"])


def main():
    with tempfile.TemporaryDirectory(prefix="hatrpc-e2e-") as folder:
        soak(start_server(f"shm:{folder}/server.ring") if RINGS else start_server(),
             {"Probe": f"shm:{folder}/probe.ring"} if RINGS else None)


def soak(server, endpoints):
    with probe_nodes(server, fabric=FAULTS, endpoints=endpoints, limits=LIMITS,
                     modes={"Probe": {"mode": "shared"}} if SHARED else None, cable=True) as nodes:
        good = nodes.manifest.read_text()
        load = Totals(nodes.endpoints["Probe"].removeprefix("tcp:"))
        hostile = Hostile(nodes.endpoints["Probe"]) if HOSTILE else None
        slow = Slow(nodes.endpoints["Probe"]) if HOSTILE else None
        began = time.monotonic()
        restarted = began
        rounds, early, peak = 0, None, 0
        while time.monotonic() < began + SECONDS and load.so_far() < (CALLS or float("inf")):
            time.sleep(1)
            rounds += 1
            goal = ("latency", "throughput", "res_util")[rounds % 3]
            nodes.manifest.write_text(good.replace("perf_goal: latency", f"perf_goal: {goal}"))
            for node in (nodes.a, nodes.b):
                assert ask(node.admin, "POST", "/reload")[0] == 200
            if time.monotonic() - restarted >= RESTART_SECONDS:
                assert nodes.b.stop() == 0
                nodes.b.start()
                restarted = time.monotonic()
            if rounds % CUT_SECONDS == 0:
                nodes.cable.cut()
            if rounds % JAM_SECONDS == 0:
                nodes.cable.jam()
                time.sleep(JAM)
                nodes.cable.flow()
            peak = max(peak, resident_mib(nodes.a))
            if rounds == 30 or (rounds == 5 and SECONDS < 60):
                early = resident_mib(nodes.a), descriptors(nodes.a)
            if rounds % 30 == 0:
                print(f"{rounds:5} s: {load.so_far()} answered, {resident_mib(nodes.a):.1f} MiB, "
                      f"{descriptors(nodes.a)} descriptors", flush=True)
        late = resident_mib(nodes.a), descriptors(nodes.a)
        lanes_lost = failures(nodes.a)
        carried = by_rdma(nodes.a, "add"), fallbacks(nodes.a, "add")
        if hostile:
            hostile.end()
            slow.end()
            print(f"hostile clients made {hostile.connections} connections; slow clients got {slow.answered} replies")
            assert slow.answered > rounds / 2 and not slow.wrong, slow.wrong[:5]
        load.end()
    with Client(None, address=server.addresses[0]) as calls:
        seen = collections.Counter(calls.count(note) for note in load.notes)
    server.stop()
    print(f"{load.answered} calls answered; hatrpcd's exceptions: {dict(load.refused)}; "
          f"connections ended: {load.ended}; calls of add() over RDMA: {carried[0]}, "
          f"over TCP instead: {dict(carried[1])}; lanes lost since the last restart: {lanes_lost}; "
          f"oneway calls executed once: {seen[1]}, never: {seen[0]}; "
          f"resident memory {early[0]:.1f} to {late[0]:.1f} MiB, at most {peak:.1f}; "
          f"descriptors {early[1]} to {late[1]}")
    assert not load.wrong, load.wrong[:5]
    assert set(load.refused) <= EXPECTED, load.refused
    assert set(seen) <= {0, 1}, "a call was executed twice"
    assert carried[0] > load.answered / 4, "RDMA lanes carried fewer than a quarter of the calls"
    assert late[0] < early[0] + GROWTH_MIB and late[1] < early[1] + 20, "memory or descriptors grow"
    assert peak < early[0] + PEAK_MIB, "the daemon holds too many bytes for clients that do not read"


if __name__ == "__main__":
    main()
