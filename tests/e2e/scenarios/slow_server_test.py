# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/slow_server_test.py: calls avoid the slow one of four servers until it has recovered.

The calls take tens of milliseconds and use little of the processor, so that a busy machine changes their times little.
All numbers that a test compares are from the same run. The calls that find out that the server is slow count, too.
"""

import re
import statistics
import subprocess
import time

from fleet import LINK_PORT, Fleet, add, main_in_a_network_namespace
from lanes_test import by_rdma
from setting import PROGRAMS, Callers, Client
from slow_probe import SlowProbe
from nodes import ask, wait_until

HEALTHY, SLOW = 0.05, 0.5  # seconds of a call
CLIENTS = 24
ROUNDS = 3
BACK_WITHIN = 15  # seconds in which load returns to a server that has recovered


def p99(times):
    return statistics.quantiles(times, n=100)[-1]


class SlowServer(Fleet):
    first_port = 9190  # of the servers, which run until the process ends

    def start(self, mode):
        self.probes = []
        for number in range(2, 6):
            self.probes.append(SlowProbe(SlowServer.first_port, HEALTHY))
            self.start_peer(number, mode=mode, fabric="loop", upstream=f"tcp:127.0.0.1:{SlowServer.first_port}")
            SlowServer.first_port += 1
        self.slow = self.probes[-1]
        self.client = self.start_client({f"host-{number}": {"link": f"tcp:127.0.0.{number}:{LINK_PORT}"}
                                         for number in range(2, 6)}, workers=1, fabric="loop")
        self.wait_for_peers(self.client, "host-2", "host-3", "host-4", "host-5")
        self.times = []

    def timed(self, calls, number):
        began = time.monotonic()
        add(calls, number)
        self.times.append(time.monotonic() - began)

    def times_of(self, seconds):
        """Returns the times of the calls that end within `seconds` from now, and the slow server's share of them."""
        first, first_slow = len(self.times), len(self.slow.order)
        time.sleep(seconds)
        times, slow = self.times[first:], len(self.slow.order) - first_slow
        return times, slow / len(times)

    def shown_as_slow(self):
        """Returns the peers that the metrics show as slow, and those that `hatctl peers` does."""
        status, page = ask(self.client.admin, "GET", "/metrics")
        self.assertEqual(status, 200, page)
        metrics = re.findall(r'(?m)^hatrpc_peer_slow{peer="([^"]+)"} 1$', page)
        peers = subprocess.run([PROGRAMS / "hatctl", "--socket", self.client.admin, "peers"], check=True,
                               capture_output=True, text=True).stdout
        return metrics, re.findall(r"(?m)^(\S+) +\S+ +0  [\d.]+(?: or more)? times as long  ", peers)

    def test_the_slowest_calls_stay_as_fast_in_shared_mode(self):
        self.start("shared")
        ratios = []
        with Callers(self.nodes, CLIENTS, self.timed) as load:
            time.sleep(1)
            for _ in range(ROUNDS):
                before, share = self.times_of(3)
                self.assertGreater(share, 0.1, "all servers carry calls")
                self.slow.seconds = SLOW
                after, share = self.times_of(9)
                for shown in self.shown_as_slow():
                    self.assertIn("host-5", shown)
                ratios.append(p99(after) / p99(before))
                print(f"p99 {p99(before) * 1e3:.1f} ms, with the slow server {p99(after) * 1e3:.1f} ms: "
                      f"{ratios[-1]:.2f}; its share of {len(after)} calls {share:.2%}")
                self.slow.seconds = HEALTHY
                wait_until("load is back", lambda: self.times_of(1)[1] > 0.1, BACK_WITHIN)
                wait_until("no peer is shown as slow", lambda: self.shown_as_slow() == ([], []), BACK_WITHIN)
        self.assertEqual(load.errors, [])
        self.assertLess(statistics.median(ratios), 1.5)
        self.assertGreater(by_rdma(self.client, "add"), 0.9 * len(self.times))

    def new_connections(self, count):
        """Makes connections with one call each; returns how many of them the slow server got."""
        before = self.slow.order.count("echo")
        for _ in range(count):
            with Client(self.nodes) as calls:
                self.assertEqual(calls.echo(b"x"), b"x")
        return self.slow.order.count("echo") - before

    def test_new_connections_avoid_the_slow_server_in_mirror_mode(self):
        self.start("mirror")
        with Callers(self.nodes, CLIENTS // 2, self.timed) as load:
            self.assertGreaterEqual(self.new_connections(40), 4, "all servers get connections")
            self.slow.seconds = SLOW
            wait_until("the slow server is known", lambda: self.new_connections(8) == 0, 30)
            self.assertLessEqual(self.new_connections(100), 3)
            self.slow.seconds = HEALTHY
            wait_until("connections are back", lambda: self.new_connections(16) >= 2, BACK_WITHIN)
        self.assertEqual(load.errors, [])
        self.assertGreater(by_rdma(self.client, "add"), 0.9 * len(self.times))


if __name__ == "__main__":
    main_in_a_network_namespace()
