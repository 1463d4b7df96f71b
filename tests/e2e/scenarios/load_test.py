# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/load_test.py: many connections, stalled clients and large values; memory must stay bounded."""

import pathlib
import re
import socket
import struct
import threading
import time

from setting import Client, Scenario, main, probe_nodes


def resident_mib(node):
    """Returns the daemon's resident memory in MiB, without the pages of its program and libraries."""
    status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text(encoding="ascii")
    return sum(int(kib) for kib in re.findall(r"Rss(?:Anon|Shmem):\s+(\d+)", status)) / 1024


def produce_request(size, seqid):
    """Returns a call of produce(size), in framed binary."""
    body = struct.pack(">iI7sibhib", -0x7FFEFFFF, 7, b"produce", seqid, 8, 1, size, 0)
    return struct.pack(">I", len(body)) + body


class Load(Scenario):
    def test_two_hundred_connections_at_once(self):
        with probe_nodes() as nodes:
            open_now, results = threading.Barrier(200), []

            def run(number):
                with Client(nodes) as calls:
                    open_now.wait()
                    results.extend(calls.add(number, i) == number + i for i in range(10))

            threads = [threading.Thread(target=run, args=[i]) for i in range(200)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(results, [True] * 2000)

    def test_a_stalled_client_holds_up_nobody_and_no_memory(self):
        with probe_nodes() as nodes:
            host, _, port = nodes.endpoints["Probe"].removeprefix("tcp:").rpartition(":")
            with Client(nodes) as calls:
                calls.produce(16 << 20)
            before = [resident_mib(node) for node in (nodes.a, nodes.b)]
            with socket.create_connection((host, int(port))) as stalled:
                for seqid in range(20):  # asks for 320 MiB of replies, and never reads them
                    stalled.sendall(produce_request(16 << 20, seqid))
                with Client(nodes) as calls:
                    self.assertEqual(len(calls.produce(16 << 20)), 16 << 20)
                    began = time.monotonic()
                    for i in range(200):
                        self.assertEqual(calls.add(i, 1), i + 1)
                    self.assertLess(time.monotonic() - began, 5.0)
                for node, mib in zip((nodes.a, nodes.b), before):
                    self.assertLess(resident_mib(node) - mib, 8, f"{node.name} stores the messages that it carries")

    def test_a_client_that_leaves_in_the_middle_of_a_request_leaves_nothing(self):
        with probe_nodes() as nodes:
            host, _, port = nodes.endpoints["Probe"].removeprefix("tcp:").rpartition(":")
            for _ in range(20):
                with socket.create_connection((host, int(port))) as leaving:
                    leaving.sendall(produce_request(10, 1)[:-3])
            with Client(nodes) as calls:
                self.assertEqual(calls.add(1, 2), 3)
            end = time.monotonic() + 5
            while time.monotonic() < end:
                left = [nodes.a.get("/status")["connections_open"],
                        nodes.b.get("/status")["upstream_connections_open"]]
                if left == [0, 0]:
                    break
                time.sleep(0.05)
            self.assertEqual(left, [0, 0])


if __name__ == "__main__":
    main()
