# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/deadlines_test.py: a stock client sends the time that it waits as THeader's `client_timeout`."""

import threading
import time

from setting import Scenario, main, manifest_with, probe_nodes
from theader import HeaderClient, HeaderServer
from nodes import wait_until

SERVED_S = 2.0  # the time that the server needs for a call
SHORT_MS = 200
LONG_MS = 60_000


def add(client, timeout_ms=None):
    """Makes a call; with the info header `client_timeout`, unless the time is None."""
    if timeout_ms:
        client.set("client_timeout", str(timeout_ms))
    return client.calls.add(1, 2)


class Deadlines(Scenario):
    def assert_ends_early(self, client, timeout_ms, reason):
        """Makes a call that must fail with the deadline that `reason` names, before the server answers."""
        began = time.monotonic()
        error = self.assert_fails(lambda: add(client, timeout_ms), "deadline_exceeded")
        took = time.monotonic() - began
        self.assertIn(reason, error.message)
        self.assertGreaterEqual(took, SHORT_MS / 1000)
        self.assertLess(took, SERVED_S)

    def test_the_clients_own_time_ends_its_call(self):
        server = HeaderServer(SERVED_S)
        with probe_nodes(server=server) as nodes:
            with HeaderClient(nodes) as client:
                self.assert_ends_early(client, SHORT_MS, f"the client's client_timeout of {SHORT_MS} ms")
            with HeaderClient(nodes) as client:
                self.assertEqual(add(client, LONG_MS), 3)
        # The daemons pass the header on as it is.
        self.assertEqual(server.headers, [{b"client_timeout": str(ms).encode()} for ms in (SHORT_MS, LONG_MS)])

    def test_the_shorter_of_the_clients_and_the_functions_time_counts(self):
        for of_function, of_client, reason in ((SHORT_MS, LONG_MS, "the function's timeout_ms"),
                                               (LONG_MS, SHORT_MS, "the client's client_timeout")):
            with (self.subTest(reason), probe_nodes(server=HeaderServer(SERVED_S),
                                                    manifest_text=manifest_with({"add": {"timeout_ms": of_function}})) as nodes,
                  HeaderClient(nodes) as client):
                self.assert_ends_early(client, of_client, reason)

    def test_a_call_that_waits_at_the_servers_daemon_when_its_time_passes_never_reaches_the_server(self):
        server = HeaderServer(SERVED_S)
        with probe_nodes(server=server, modes={"Probe": {"mode": "shared", "max_connections": 1}},
                         keys={"host-b": {"workers": 1}}) as nodes:
            answers = []
            with HeaderClient(nodes) as first, HeaderClient(nodes) as second:
                thread = threading.Thread(target=lambda: answers.append(add(first)))
                thread.start()
                wait_until("the server has the first call", lambda: server.headers)
                self.assert_ends_early(second, SHORT_MS, "the client's client_timeout")
                thread.join()
                self.assertEqual(add(second, LONG_MS), 3)
        self.assertEqual(answers, [3])
        self.assertEqual(server.headers, [{}, {b"client_timeout": str(LONG_MS).encode()}])


if __name__ == "__main__":
    main()
