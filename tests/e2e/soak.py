#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/soak.py: mixed load for as long as you like, while lanes break, daemons restart, manifests change.

Each call must be answered once, or with hatrpcd's own exception; no oneway call may be executed twice
(the server counts them by id); memory and descriptors of the daemon that stays must be flat.

  tests/e2e/soak.py build/release/bin build/release/e2e 600            ten minutes
  tests/e2e/soak.py build/release/bin build/release/e2e rings 600      with client and server on rings
"""

import collections
import pathlib
import re
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "scenarios"))
SECONDS = float(sys.argv.pop()) if len(sys.argv) > 3 else 60.0
RINGS = sys.argv[3:] == ["rings"]
from lanes_test import Load, by_rdma, counted  # noqa: E402
from nodes import ask  # noqa: E402
from setting import Client, probe_nodes, start_server  # noqa: E402

RESTART_SECONDS = 20
FAULTS = {"kind": "loop", "faults": {"cut_within": 4000}}  # about one lane a second
EXPECTED = {"link_lost", "peer_unreachable", "draining", "upstream_closed"}


def resident_mib(node):
    status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def descriptors(node):
    return len(list(pathlib.Path(f"/proc/{node.process.pid}/fd").iterdir()))


def failures(node):
    return sum(lane["failures"] for link in node.get("/status")["links"] for lane in link["lanes"])


def main():
    with tempfile.TemporaryDirectory(prefix="hatrpc-e2e-") as folder:
        soak(start_server(f"shm:{folder}/server.ring") if RINGS else start_server(),
             {"Probe": f"shm:{folder}/probe.ring"} if RINGS else None)


def soak(server, endpoints):
    with probe_nodes(server, fabric=FAULTS, endpoints=endpoints,
                     limits={"lane_settle": "10ms", "peer_wait": "10s"}) as nodes:
        good = nodes.manifest.read_text()
        load = Load(nodes)
        began = time.monotonic()
        restarted = began
        rounds, early = 0, None
        while time.monotonic() < began + SECONDS:
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
            if rounds == 30 or (rounds == 5 and SECONDS < 60):
                early = resident_mib(nodes.a), descriptors(nodes.a)
            if rounds % 30 == 0:
                print(f"{rounds:5} s: {load.answered} answered, {sum(load.refused.values())} refused, "
                      f"{load.ended} connections ended, "
                      f"{resident_mib(nodes.a):.1f} MiB, {descriptors(nodes.a)} descriptors", flush=True)
        late = resident_mib(nodes.a), descriptors(nodes.a)
        lanes_lost = failures(nodes.a)
        carried = by_rdma(nodes.a, "add"), counted(nodes.a, "fallbacks")["add"]
        load.end()
    with Client(None, address=server.addresses[0]) as calls:
        seen = collections.Counter(calls.count(note) for note in load.notes)
    server.stop()
    print(f"{load.answered} calls answered, refused: {dict(load.refused)}, "
          f"connections ended: {load.ended}; add() by RDMA: {carried[0]}, "
          f"over TCP instead: {dict(carried[1])}; lanes lost since the last restart: {lanes_lost}; "
          f"oneway calls executed once: {seen[1]}, never: {seen[0]}; "
          f"resident {early[0]:.1f} to {late[0]:.1f} MiB, descriptors {early[1]} to {late[1]}")
    assert not load.wrong, load.wrong[:5]
    assert set(load.refused) <= EXPECTED, load.refused
    assert set(seen) <= {0, 1}, "a call was executed twice"
    assert carried[0] > load.answered / 4, "hardly a call went by RDMA"
    assert late[0] < early[0] + 8 and late[1] < early[1] + 20, "memory or descriptors grow"


if __name__ == "__main__":
    main()
