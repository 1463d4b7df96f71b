# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/footprint.py: measures a pair of hatrpcds with idle connections: memory, descriptors, CPU time."""

import contextlib
import pathlib
import re
import socket
import struct
import time

from tool import chart, experiment, processes, ways

# The fabric between the two daemons.
FABRICS = {"fabric tcp": "tcp", "fabric loop": "loop"}
PAYLOAD = bytes(64)
# A call of echo(1: binary), in strict binary protocol, without the frame's size.
CALL = (b"\x80\x01\x00\x01" + struct.pack(">i4si", 4, b"echo", 1)
        + b"\x0b" + struct.pack(">hi", 1, len(PAYLOAD)) + PAYLOAD + b"\x00")


def called(address):
    """Opens a connection and makes one call over it; returns the connection."""
    connection = socket.create_connection(("127.0.0.1", int(address)), timeout=processes.START_SECONDS)
    connection.sendall(struct.pack(">i", len(CALL)) + CALL)
    with connection.makefile("rb") as answer:
        size, = struct.unpack(">i", answer.read(4))
        if PAYLOAD not in answer.read(size):
            raise experiment.Failed("the answer is not what was sent")
    return connection


def resident_kib(process):
    processes.must_run(process)
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1))


def descriptors(process):
    return len(list(pathlib.Path(f"/proc/{process.pid}/fd").iterdir()))


class Footprint:
    def __init__(self, settings):
        self.settings = settings

    def measure(self, peer, point, seconds):
        """Measures with a new pair of hatrpcds each time, because an old pair could use memory again that it freed."""
        with ways.Site(self.settings) as site, contextlib.ExitStack() as connections:
            server = site.server([site.programs / "echo_server", "0"])
            pair = ways.hatrpcd_pair(site, server, "Echo", ways.manifest("Echo", {"echo": {}}),
                                     fabric=FABRICS[peer])
            here, there = pair.sidecars
            connections.enter_context(called(pair.address))
            before = [(resident_kib(one), descriptors(one)) for one in pair.sidecars]
            for _ in range(point["connections"]):
                connections.enter_context(called(pair.address))
            cpu = processes.cpu_seconds(here) + processes.cpu_seconds(there)
            time.sleep(seconds)
            cpu = processes.cpu_seconds(here) + processes.cpu_seconds(there) - cpu
            values = {"cpu_ms_per_s": cpu * 1000 / seconds}
            for name, one, (kib, fds) in zip(("client", "server"), pair.sidecars, before):
                values |= {f"{name}_mib": resident_kib(one) / 1024,
                           f"{name}_kib_each": (resident_kib(one) - kib) / point["connections"],
                           f"{name}_fds_each": (descriptors(one) - fds) / point["connections"]}
            return values


@contextlib.contextmanager
def open_peers(settings):
    yield Footprint(settings)


EXPERIMENT = experiment.Experiment(
    name="footprint", title="What idle connections need",
    question="How much memory, how many descriptors and how much processor time do idle connections need?",
    peers=list(FABRICS), points=[{"connections": count} for count in (1, 100, 1000)],
    open=open_peers, seconds=2.0, rounds=3, warm_up=0.0,
    clocks="no calls are timed", measures=(*ways.CODE, *ways.ECHO),
    units={"client_mib": experiment.Unit("MiB", "lower", "resident memory, the client's hatrpcd"),
           "server_mib": experiment.Unit("MiB", "lower", "resident memory, the server's hatrpcd"),
           "client_kib_each": experiment.Unit("KiB", "lower", "memory added by each connection, the client's hatrpcd"),
           "server_kib_each": experiment.Unit("KiB", "lower", "memory added by each connection, the server's hatrpcd"),
           "client_fds_each": experiment.Unit("", "lower", "descriptors of each, the client's"),
           "server_fds_each": experiment.Unit("", "lower", "descriptors of each, the server's"),
           "cpu_ms_per_s": experiment.Unit("ms/s", "lower", "CPU of both hatrpcds, while all are idle")},
    charts=[chart.Lines("client_mib", "connections", "Resident memory of the client's hatrpcd"),
            chart.Lines("server_mib", "connections", "Resident memory of the server's hatrpcd"),
            chart.Bars("client_kib_each", "connections", "For each connection, the client's hatrpcd"),
            chart.Bars("server_kib_each", "connections", "For each connection, the server's hatrpcd")],
    notes="Each daemon has one worker. Each connection carried one call of 64 B before it became idle. Memory that the "
          "fabric `loop` shares counts as resident in both daemons, as far as it was touched.")
