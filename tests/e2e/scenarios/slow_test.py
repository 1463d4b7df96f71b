# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/slow_test.py: one command, `hatctl slow`, finds the slow one of four servers, and divides the
time of slow calls."""

import itertools
import json
import subprocess

from fleet import LINK_PORT, Fleet, add, main_in_a_network_namespace
from setting import PROGRAMS, Callers, calls_in
from slow_probe import SlowProbe
from nodes import wait_until

SLOW = 4        # the number of the slow peer
SECONDS = 0.15  # of each of its calls
PORTS = itertools.count(9190)  # of the servers, which run until the process ends


class Slow(Fleet):
    def start(self, mode):
        self.probes, self.peers = {}, {}
        for number in range(2, 6):
            port = next(PORTS)
            self.probes[number] = SlowProbe(port)
            self.peers[number] = self.start_peer(number, mode=mode, upstream=f"tcp:127.0.0.1:{port}")
        return self.start_client({f"host-{number}": {"link": f"tcp:127.0.0.{number}:{LINK_PORT}"}
                                  for number in self.peers}, workers=1)

    def hatctl(self, node, *words):
        return subprocess.run([PROGRAMS / "hatctl", "--socket", node.admin, *words], text=True, capture_output=True,
                              check=True).stdout

    def find_the_slow_one(self, mode):
        client = self.start(mode)
        with Callers(self.nodes, 16, add) as load:
            wait_until("all servers have calls", lambda: min(map(calls_in, self.peers.values())) > 20, 30)
            self.probes[SLOW].seconds = SECONDS
            before = calls_in(self.peers[SLOW])
            wait_until("the server was slow", lambda: calls_in(self.peers[SLOW]) > before + 5, 30)
            shown = self.hatctl(client, "slow")
            slow = json.loads(self.hatctl(client, "slow", "Probe.add", "--json"))["slow"]
        self.assertEqual(load.errors, [])
        first = shown.splitlines()[1]
        self.assertRegex(first, rf"^Probe\.add +host-{SLOW} +\d+ +\d+ ms +in the server \d+ %$")
        worst = max((call for call in slow if call["peer"] == f"host-{SLOW}"), key=lambda call: call["took_us"])
        self.assertEqual(worst["outcome"], "success")
        self.assertGreater(worst["server_us"], 0.8e6 * SECONDS)
        parts = [worst[key] for key in ("waited_us", "wire_us", "peer_us", "server_us", "reply_us")]
        self.assertAlmostEqual(sum(parts), worst["took_us"], delta=1)

    def test_the_slow_one_of_four_servers_is_found_in_mirror_mode(self):
        self.find_the_slow_one("mirror")

    def test_the_slow_one_of_four_servers_is_found_in_shared_mode(self):
        self.find_the_slow_one("shared")

    def test_calls_that_wait_for_a_connection_wait_in_the_peers_daemon(self):
        port = next(PORTS)
        probe = SlowProbe(port, 0.05)
        self.start_peer(2, mode="shared", upstream=f"tcp:127.0.0.1:{port}", max_connections=1)
        client = self.start_client({"host-2": {"link": f"tcp:127.0.0.2:{LINK_PORT}"}}, workers=1)
        with Callers(self.nodes, 8, add) as load:
            wait_until("calls wait", lambda: len(probe.order) > 40, 30)
        self.assertEqual(load.errors, [])
        first = self.hatctl(client, "slow").splitlines()[1]
        self.assertRegex(first, r"^Probe\.add +host-2 +\d+ +\d+ ms +waiting in the peer's daemon \d\d %$")


if __name__ == "__main__":
    main_in_a_network_namespace()
