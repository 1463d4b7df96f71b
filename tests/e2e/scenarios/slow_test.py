# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/slow_test.py: one command, `hatctl slow`, finds the slow one of four servers, divides the time of
slow calls, and finds the one of three servers that does not answer."""

import concurrent.futures
import contextlib
import itertools
import json
import re
import subprocess

from fleet import LINK_PORT, Fleet, add, main_in_a_network_namespace
from setting import PROGRAMS, Callers, Client, calls_in, stopped
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

    def slowest_function(self, shown):
        """Returns the first row of the table of calls that have ended."""
        return shown.rpartition("SLOW CALLS")[2].splitlines()[1]

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
        first = self.slowest_function(shown)
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
        first = self.slowest_function(self.hatctl(client, "slow"))
        self.assertRegex(first, r"^Probe\.add +host-2 +\d+ +\d+ ms +waiting in the peer's daemon \d\d %$")

    def test_a_server_that_does_not_answer_is_found_while_its_calls_wait(self):
        peers = {number: self.start_peer(number) for number in (2, 3, 4)}
        node = self.start_client({f"host-{number}": {"link": f"tcp:127.0.0.{number}:{LINK_PORT}"} for number in peers},
                                 workers=1)
        with contextlib.ExitStack() as ends:
            clients = [ends.enter_context(Client(self.nodes)) for _ in range(6)]
            for client in clients:
                add(client, 1)
            self.assertEqual([calls_in(peer) for peer in peers.values()], [2, 2, 2])
            self.assertNotIn("without a reply", self.hatctl(node, "slow"))
            threads = ends.enter_context(concurrent.futures.ThreadPoolExecutor(len(clients)))
            with stopped(self.servers[3]):
                calls = [threads.submit(add, client, 2) for client in clients]
                wait_until("the others have answered", lambda: sum(call.done() for call in calls) == 4)
                wait_until("the two calls wait", lambda: [
                    one["calls"] for one in json.loads(self.hatctl(node, "slow", "--json"))["waiting"]] == [2])
                shown = self.hatctl(node, "slow").splitlines()
                rows = self.hatctl(node, "peers").splitlines()
            for call in calls:
                call.result()
        first = shown.index("calls without a reply yet:")
        self.assertRegex(shown[first + 2], r"^Probe\.add +host-3 +2 +[\d.]+ m?s +the reply$")
        self.assertEqual(shown[first + 3:first + 5], ["", "calls that have ended:"])
        waits = [re.split(" {2,}", row)[0] for row in rows if re.search(r" 2 \([\d.]+ m?s\) ", row)]
        self.assertEqual(waits, ["host-3"])
        self.assertNotIn("without a reply", self.hatctl(node, "slow"))


if __name__ == "__main__":
    main_in_a_network_namespace()
