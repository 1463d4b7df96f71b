# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/explain_test.py: `hatctl explain`, `hatctl peers` and `hatctl connections` at a client's daemon with
three peers, of which one is down and one is ejected."""

import json
import os
import subprocess

from fleet import ENDPOINT, LINK_PORT, Fleet, add, main_in_a_network_namespace
from setting import PROGRAMS, Client, TApplicationException
from nodes import wait_until

GOOD, EJECTED, DOWN = "host-2", "host-3", "host-4"


class Explain(Fleet):
    def setUp(self):
        super().setUp()
        self.start_peer(2, mode="shared")
        self.start_peer(3, mode="shared")
        self.client = self.start_client({f"host-{number}": {"link": f"tcp:127.0.0.{number}:{LINK_PORT}"}
                                         for number in (2, 3, 4)}, workers=1, limits={"retry_percent": 0})
        self.wait_for_peers(self.client, GOOD, EJECTED)

    def hatctl(self, *words, status=0):
        done = subprocess.run([PROGRAMS / "hatctl", "--socket", self.client.admin, *words], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr if status else done.stdout

    def answer(self, *words):
        return json.loads(self.hatctl(*words, "--json"))

    def peer(self, name):
        return next(peer for peer in self.answer("peers")["peers"] if peer["peer"] == name)

    def eject(self):
        """Calls until the peer without a server is ejected for some seconds."""
        def is_ejected_for_long():
            for _ in range(4):
                try:
                    with Client(self.nodes) as calls:
                        add(calls, 1)
                except TApplicationException as error:
                    self.assertIn("upstream_unreachable", error.message)
            avoided = self.peer(EJECTED)["avoided"]
            return bool(avoided) and avoided[0]["state"] == "ejected" and avoided[0]["left_s"] > 2

        wait_until("the peer is ejected for some seconds", is_ejected_for_long, 30)

    def shown_while_ejected(self):
        """Returns the pages of `explain` and `peers`, and the answers that they show, of one time of an ejection.

        Without calls, an ejected peer can only become due, so one that is ejected at last was so all the time.
        """
        for _ in range(5):  # on a busy machine an ejection can end before the last answer
            self.eject()
            page, peers = self.hatctl("explain", "Probe.add"), self.hatctl("peers")
            ways = {way["peer"]: way for way in self.answer("explain", "Probe.add")["ways"]}
            answer = self.answer("peers")
            by_name = {peer["peer"]: peer for peer in answer["peers"]}
            if by_name[EJECTED]["avoided"][0]["state"] == "ejected":
                self.assertEqual((answer["workers"], answer["workers_silent"], answer["left_out"]), (1, 0, 0))
                return page, peers, ways, by_name
        self.fail("each ejection ended before the last answer")

    def test_peers_and_one_function_with_a_peer_that_is_down_and_one_that_is_ejected(self):
        with Client(self.nodes) as calls:
            add(calls, 1)
            self.servers[3].stop()
            page, peers, ways, by_name = self.shown_while_ejected()
        good, ejected, down = (by_name[name] for name in (GOOD, EJECTED, DOWN))

        self.assertEqual(good["workers"][0]["state"], "up")
        self.assertEqual(good["node"], GOOD)
        self.assertGreater(good["calls"], 0)
        self.assertEqual(good["avoided"], [])
        self.assertEqual(good["endpoints"], [{"listen": f"tcp:{ENDPOINT}", "service": "Probe"}])
        self.assertEqual(ejected["workers"][0]["state"], "up")
        self.assertEqual(ejected["avoided"][0]["why"], "upstream_unreachable")
        self.assertEqual(down["workers"][0]["state"], "down")
        self.assertIsNone(down["link_version"])
        self.assertIn("refused", down["workers"][0]["last_error"].lower())
        self.assertRegex(peers, rf"(?m)^{GOOD} +tcp:127.0.0.2:{LINK_PORT} +up \d+ s +\d+ ")
        self.assertRegex(peers, rf"(?m)^{DOWN} +tcp:127.0.0.4:{LINK_PORT} +down \d+ s +- ")
        self.assertRegex(peers, rf"(?m)^{EJECTED} +tcp:{ENDPOINT} +0  ejected for [\d.]+ m?s +upstream_unreachable$")
        self.assertRegex(peers, rf"(?m)^tcp:{ENDPOINT} +Probe +{GOOD}, {EJECTED}, {DOWN}$")

        self.assertEqual({name: way["candidate"] for name, way in ways.items()},
                         {GOOD: True, EJECTED: False, DOWN: False})
        self.assertEqual([name for name, way in ways.items() if way["overflow"]], [])
        self.assertRegex(page, rf"(?m)^tcp:{ENDPOINT} +{GOOD} .* yes$")
        self.assertRegex(page, rf"(?m)^tcp:{ENDPOINT} +{EJECTED} .* no: ejected for .* \(upstream_unreachable\)$")
        self.assertRegex(page, rf"(?m)^tcp:{ENDPOINT} +{DOWN} +1  - .* no: the link is down: .*refused")
        self.assertIn("perf_goal=latency", page)
        self.assertRegex(page, r"(?m)^perf_goal +latency +(function|service) +")
        self.assertRegex(page, r"(?ms)^retries +A request .* none\s+is:\s+limits\.retry_percent\s+is\s+0\.$")
        self.assertRegex(page, r"(?m)^recently +by local clients: \d+ in ")

    def test_a_call_now_uses_what_the_page_says(self):
        def way():
            return next(way for way in self.answer("explain", "Probe.add")["ways"] if way["peer"] == GOOD)

        self.assertEqual(way()["small"], {"protocols": "", "why": "opening", "last_error": "", "opens": True})
        with Client(self.nodes) as first, Client(self.nodes) as second:  # they take turns
            def has_lane():
                add(first, 1)
                add(second, 1)
                return way()["small"]["protocols"] != ""

            wait_until("a lane is up", has_lane)
            add(first, 1)
            add(second, 1)
            carriers = {one["carrier"] for one in self.answer("connections")["connections"] if one["peer"] == GOOD}
            self.assertEqual(carriers, {way()["small"]["protocols"]})

    def test_connections_of_clients(self):
        with Client(self.nodes) as first, Client(self.nodes) as second:
            add(first, 1)
            for number in range(5):
                add(second, number)
            answer = self.answer("connections")
            self.assertEqual(answer["open"], 2)
            most, fewer = answer["connections"]
            self.assertEqual([most["calls"], fewer["calls"]], [5, 1])
            self.assertEqual(most["protocol"], "framed binary")
            self.assertEqual(most["unanswered"], 0)
            self.assertFalse(most["has_own_server"])
            self.assertRegex(most["client"], r"^tcp:127\.0\.0\.1:\d+$")
            self.assertGreater(most["bytes_in"], 5 * 20)
            self.assertGreater(most["bytes_out"], 5 * 20)
            self.assertEqual(len(self.answer("connections", "--top", "1")["connections"]), 1)
            oldest = self.answer("connections", "--by", "age", "--top", "1")["connections"][0]
            self.assertEqual(oldest["calls"], 1)
            text = self.hatctl("connections")
            self.assertTrue(text.startswith("2 connections of local clients\n"), text)
            self.assertRegex(text, rf"(?m)^tcp:{ENDPOINT} +tcp:127\.0\.0\.1:\d+ +tcp +framed binary +host-[23] ")
        wait_until("the connections have ended", lambda: self.answer("connections")["open"] == 0)

    def test_a_client_on_a_unix_socket_has_a_process(self):
        path = self.folder / "probe.sock"
        node = self.start_node({
            "node": "host-b", "workers": 1, "link": {"insecure": True},
            "peers": {GOOD: {"link": f"tcp:127.0.0.2:{LINK_PORT}"}},
            "endpoints": [{"listen": f"unix:{path}", "service": "Probe", "peers": [GOOD]}]})
        self.client = node
        with Client(self.nodes, address=f"unix:{path}") as calls:
            add(calls, 1)
            one = self.answer("connections")["connections"][0]
            self.assertEqual((one["kind"], one["pid"], one["client"]), ("unix", os.getpid(), ""))

    def test_names_that_do_not_exist(self):
        self.assertIn("no function is called 'Probe.ad' (did you mean 'Probe.add'?)",
                      self.hatctl("explain", "Probe.ad", status=1))
        self.assertIn("write one of: Base.add, Probe.add", self.hatctl("explain", "add", status=1))
        self.assertNotIn("\x1b", self.hatctl("explain", "\x1b[2J", status=1))
        self.assertIn("expected", self.hatctl("connections", "--by", "size", status=2))


if __name__ == "__main__":
    main_in_a_network_namespace()
