# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/priority_test.py: the hint `priority` decides which calls get a shared connection first."""

import json

from setting import Callers, Scenario, main, manifest_with, probe_nodes
from slow_probe import SlowProbe
from nodes import ask, free_ports, wait_until

CLIENTS = 6      # of each function
SECONDS = 0.004  # of each call in the server
CALLS = 300


class OneServer:
    """A server at one address, as probe_nodes() wants it."""

    def __init__(self):
        port, = free_ports(1)
        self.probe = SlowProbe(port, SECONDS)
        self.addresses = [f"127.0.0.1:{port}"]


class Priority(Scenario):
    def shares(self, server):
        """Lets clients call both functions at once; returns how many of CALLS calls were of `add`, and of `echo`."""
        order = server.probe.order
        first = len(order) + CALLS  # those before can have begun before a reload
        wait_until(f"{2 * CALLS} calls", lambda: len(order) >= first + CALLS, 60)
        counted = order[first:first + CALLS]
        return counted.count("add"), counted.count("echo")

    def test_calls_of_a_higher_priority_get_more_of_the_connections(self):
        server = OneServer()
        with probe_nodes(server, manifest_with({"add": {"priority": "high"}, "echo": {"priority": "low"}}),
                         modes={"Probe": {"mode": "shared", "max_connections": 1}},
                         keys={"host-b": {"workers": 1}}) as nodes, \
             Callers(nodes, CLIENTS, lambda calls, number: self.assertEqual(calls.add(number, 1), number + 1)) as adds, \
             Callers(nodes, CLIENTS, lambda calls, number: self.assertEqual(calls.echo(b"x"), b"x")) as echoes:
            self.assertNotIn("priority", nodes.b.log(), "no warning that the hint has no effect")
            high, low = self.shares(server)
            self.assertGreaterEqual(high, 4 * low)
            self.assertGreater(low, 0, "calls of a low priority continue")

            nodes.manifest.write_text(manifest_with({"add": {"priority": "low"}, "echo": {"priority": "high"}}))
            status, body = ask(nodes.b.admin, "POST", "/reload")
            self.assertEqual(status, 200, body)
            self.assertEqual(json.loads(body)["warnings"], [])
            low, high = self.shares(server)
            self.assertGreaterEqual(high, 4 * low)
            self.assertGreater(low, 0)
        self.assertEqual(adds.errors + echoes.errors, [])


if __name__ == "__main__":
    main()
