# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/choice_test.py: which of several peers the clients of an endpoint get."""

import threading
import time

from fleet import LINK_PORT, Fleet, add, main_in_a_network_namespace
from setting import Callers, Client, TApplicationException, calls_in, edit, stopped
from slow_probe import SlowProbe
from nodes import ask, wait_until


class Choice(Fleet):
    def start(self, count, limits=None, mode="mirror", **keys):
        """Starts peers, and a client's daemon with one worker. `keys`: more keys of peers, by their number."""
        numbers = range(2, 2 + count)
        self.peers = [self.start_peer(number, mode=mode) for number in numbers]
        return self.start_client({f"host-{number}": {"link": f"tcp:127.0.0.{number}:{LINK_PORT}",
                                                     **keys.get(f"of_{number}", {})} for number in numbers},
                                 workers=1, zone="east", limits=limits or {})

    def calls(self):
        return [calls_in(peer) for peer in self.peers]

    def test_idle_peers_take_turns_by_their_weight(self):
        client = self.start(3)
        self.call_from_new_clients(9)
        self.assertEqual(self.calls(), [3, 3, 3])
        edit(client, lambda config: config["peers"]["host-2"].update(weight=4))
        status, body = ask(client.admin, "POST", "/reload")
        self.assertEqual(status, 200, body)
        self.assertIn("peers.host-2.weight: 1 → 4", body)
        self.call_from_new_clients(12)
        self.assertEqual(self.calls(), [11, 5, 5])

    def test_peers_of_another_zone_get_calls_only_if_no_other_is_left(self):
        client = self.start(3, of_2={"zone": "east"}, of_3={"zone": "west"}, of_4={"zone": "east"})
        self.call_from_new_clients(6)
        self.assertEqual(self.calls(), [3, 0, 3])
        self.peers[0].stop()
        self.peers[2].stop()
        self.wait_for_peers(client, "host-3")
        self.call_from_new_clients(2)
        self.assertEqual(calls_in(self.peers[1]), 2)

    def test_shared_calls_of_lasting_connections_spread_over_the_peers(self):
        self.start(4, mode="shared")

        def paced(calls, number):
            add(calls, number)
            time.sleep(0.005)

        with Callers(self.nodes, 8, paced) as load:
            wait_until("2,000 calls", lambda: load.calls >= 2000, 120)
        self.assertEqual(load.errors, [])
        wait_until("the servers' daemons have counted all", lambda: sum(self.calls()) == load.calls)
        counts = self.calls()
        for count in counts:
            self.assertTrue(0.15 < count / load.calls < 0.35, counts)

    def test_mirrored_calls_of_a_connection_stay_with_its_peer(self):
        self.start(4)
        with Client(self.nodes) as calls:
            for number in range(40):
                add(calls, number)
        self.assertEqual(sorted(self.calls()), [0, 0, 0, 40])

    def in_flight(self, peer):
        """Returns how many calls of Probe.add the node's server has not answered."""
        return sum(function["in_flight"] for function in peer.get("/functions")
                   if function["method"] == "add" and function["side"] == "server")

    def test_new_clients_avoid_a_server_that_does_not_answer(self):
        self.start(2)
        answers = []
        with Client(self.nodes) as first:
            add(first, 1)
            its = self.calls().index(1)
            with stopped(self.servers[2 + its]):
                stuck = threading.Thread(target=lambda: answers.append(first.add(2, 1)))
                stuck.start()
                wait_until("the call waits", lambda: self.in_flight(self.peers[its]) == 1)
                self.call_from_new_clients(10)
            stuck.join()
        self.assertEqual(answers, [3])
        self.assertEqual(self.calls(), [2, 10] if its == 0 else [10, 2])

    def test_shared_calls_leave_a_slow_server(self):
        probe, _ = SlowProbe(9191), SlowProbe(9192)
        self.peers = [self.start_peer(number, mode="shared", upstream=f"tcp:127.0.0.1:{port}")
                      for number, port in ((2, 9191), (3, 9192))]
        self.start_client({f"host-{number}": {"link": f"tcp:127.0.0.{number}:{LINK_PORT}"} for number in (2, 3)},
                          workers=1)
        with Callers(self.nodes, 40, add) as load:
            wait_until("both carry calls", lambda: min(self.calls()) > 400)
            probe.seconds = 0.2
            # If no client changed its peer, the calls of 20 clients would wait there all the time.
            wait_until("few calls wait for the slow server",
                       lambda: max(self.in_flight(self.peers[0]) for _ in range(10)) < 17, 20)
            probe.seconds = 0.0
            before = calls_in(self.peers[0])
            wait_until("calls come back", lambda: calls_in(self.peers[0]) > before + 400, 30)
        self.assertEqual(load.errors, [])

    def test_a_peer_without_a_server_does_not_attract_all_clients(self):
        self.start(2, limits={"retry_percent": 0})
        self.servers[2].stop()
        failed = 0
        for _ in range(20):
            with Client(self.nodes) as calls:
                try:
                    add(calls, 1)
                except TApplicationException as error:
                    self.assertIn("upstream_unreachable", error.message)
                    failed += 1
        self.assertIn(failed, (1, 2), "20 calls take less than two seconds")


if __name__ == "__main__":
    main_in_a_network_namespace()
