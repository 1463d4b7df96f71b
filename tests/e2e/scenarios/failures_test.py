# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/failures_test.py: the errors that a stock client gets if a server or peer is missing or slow."""

import contextlib
import signal
import threading
import time

from setting import (Client, PROGRAMS, Scenario, TApplicationException, main, manifest, probe_nodes,
                     start_server)
from nodes import TwoNodes, free_ports, wait_until
from thrift.transport.TTransport import TTransportException


class Failures(Scenario):
    def assert_ended(self, calls):
        """Checks that the client's connection ends, as it must after its mirrored upstream connection has ended."""
        with self.assertRaises((TTransportException, OSError)):
            with contextlib.suppress(TApplicationException):  # the daemon answers a call that it reads before the end
                self.fail(f"answered: {calls.add(1, 2)}")
            calls.add(1, 2)

    def test_no_server_then_one(self):
        port = free_ports(1)[0]
        with TwoNodes(PROGRAMS, manifest(), {"Probe": f"tcp:127.0.0.1:{port}"}) as nodes:
            with Client(nodes) as calls:
                error = self.assert_fails(lambda: calls.add(1, 2), "upstream_unreachable")
                self.assertIn(str(port), error.message)
                server = start_server(f"127.0.0.1:{port}")
                try:
                    self.assertEqual(calls.add(1, 2), 3, "the same connection must work again")
                finally:
                    server.stop()

    def test_no_peer_then_one(self):
        with probe_nodes() as nodes:
            self.assertEqual(nodes.b.stop(), 0)
            with Client(nodes) as calls:
                error = self.assert_fails(lambda: calls.add(1, 2), "peer_unreachable")
                self.assertIn("host-b", error.message)
                nodes.b.start()
                wait_until("the link is up again",
                           lambda: nodes.a.get("/status")["links"][0]["up"])
                self.assertEqual(calls.add(1, 2), 3, "the same connection must work again")

    def test_server_dies_during_a_call(self):
        server = start_server()
        with probe_nodes(server) as nodes, Client(nodes) as calls:
            self.assertEqual(calls.add(1, 2), 3)
            threading.Timer(0.3, server.process.send_signal, [signal.SIGKILL]).start()
            self.assert_fails(lambda: calls.slow(5000), "upstream_closed")
            self.assert_ended(calls)
        server.stop()

    def test_peer_is_killed_during_a_call_and_comes_back(self):
        with probe_nodes() as nodes, Client(nodes) as calls:
            self.assertEqual(calls.add(1, 2), 3)
            threading.Timer(0.3, nodes.b.process.send_signal, [signal.SIGKILL]).start()
            self.assert_fails(lambda: calls.slow(5000), "link_lost")
            self.assert_ended(calls)
            nodes.b.process.wait()
            nodes.b.start()
            wait_until("the link is up again", lambda: nodes.a.get("/status")["links"][0]["up"])
            with Client(nodes) as again:
                self.assertEqual(again.add(1, 2), 3)

    def test_timeout_of_a_hint(self):
        with probe_nodes() as nodes, Client(nodes) as calls:
            began = time.monotonic()
            self.assert_fails(lambda: calls.hurried(3000), "deadline_exceeded")
            self.assertLess(time.monotonic() - began, 1.0, "the hint says 300 ms")
            self.assert_ended(calls)

    def test_timeout_of_the_node(self):
        with probe_nodes(limits={"call_timeout": "300ms"}) as nodes, Client(nodes) as calls:
            began = time.monotonic()
            self.assert_fails(lambda: calls.slow(5000), "deadline_exceeded")
            self.assertLess(time.monotonic() - began, 2.0, "limits.call_timeout is 300 ms")
            self.assert_ended(calls)

    def test_timeout_of_a_hint_with_a_pool_of_connections_to_the_server(self):
        with probe_nodes(modes={"Probe": {"mode": "shared"}}) as nodes, Client(nodes) as calls:
            self.assert_fails(lambda: calls.hurried(3000), "deadline_exceeded")
            self.assertEqual(calls.hurried(10), 10, "the connection must still work")

    def test_too_large(self):
        with probe_nodes(limits={"max_message": "1MiB"}) as nodes, Client(nodes) as calls:
            self.assert_fails(lambda: calls.consume(bytes(2 << 20)), "too_large")
            self.assertEqual(calls.consume(bytes(1000)), 1000, "the connection must still work")

    def test_peer_serves_no_such_service(self):
        server = start_server()
        address = f"tcp:{server.addresses[0]}"
        port = free_ports(1)[0]
        with TwoNodes(PROGRAMS, manifest(), {"Probe": address},
                      endpoints={"Elsewhere": f"tcp:127.0.0.1:{port}"}) as nodes:
            with Client(nodes, "Elsewhere") as calls:
                error = self.assert_fails(lambda: calls.add(1, 2), "unknown_service")
                self.assertIn("Elsewhere", error.message)
        server.stop()


if __name__ == "__main__":
    main()
