# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/fleet_test.py: servers are killed, drained, added, cut off and slowed down under load.

Eight hosts are network namespaces, with a real DNS server (changing_fleet.py). No idempotent call may fail. Another
call may fail only if the server may have executed it, and no server may execute it twice.
tests/e2e/fleet_plot.py draws the same changes over a longer time.
"""

import collections
import math
import time
import unittest

from changing_fleet import CLIENT_HOSTS, LINK_PORT, ChangingFleet, calls_by_lane, executed, wrong_calls
from fleet import main_in_a_network_namespace
from network import RESOLV_CONF, TOOLS
from nodes import wait_until
from recorded_load import OK

STEADY_S = 3  # time to measure the rate before and after a change
RECOVERY_S = 6  # within this time, the load has followed a change of a server
PATIENCE_S = 60  # for the load to follow a change on a slow machine; an ejected peer is tried after 30 s at the latest


class FleetTest(unittest.TestCase):
    def change(self, fleet, load, change, follows):
        """Makes a change, calls follows(), which waits until the load has followed it, and checks that the rate returns."""
        change()
        follows()
        time.sleep(STEADY_S)
        print(f"{fleet.changes[-1][1]}: {self.steady:.0f} calls/s at first, {self.rate_now(load):.0f} calls/s after")
        wait_until(f"{fleet.changes[-1][1]}: half of {self.steady:.0f} calls/s",
                   lambda: self.rate_now(load) > self.steady / 2, PATIENCE_S)

    @staticmethod
    def recovers():
        """Waits while clients find out how a server is: no state of a daemon says that they have."""
        time.sleep(RECOVERY_S)

    @staticmethod
    def links(fleet, number, count):
        """Returns a function that waits until `count` daemons with clients have a link to the host."""
        peer = f"fleet@{fleet.network.hosts[number].address}:{LINK_PORT}"
        return lambda: wait_until(f"{count} links to {peer}", lambda: sum(
            link["up"] for client in CLIENT_HOSTS for link in fleet.nodes[client].get("/status")["links"]
            if link["peer"] == peer) == count, PATIENCE_S)

    @staticmethod
    def rate_now(load):
        now = time.monotonic()
        return load.rate(now - STEADY_S, now)

    def assert_returned(self, fleet, load):
        """Checks that the servers that were away get calls again, after the longest pause of an ejected peer."""
        for server, text in (("host-3", "host-3: server started"), ("host-5", "host-5: daemon started"),
                             ("host-6", "host-6: connected")):
            since = next(when for when, change in fleet.changes if change == text)
            wait_until(f"{server} gets calls again", lambda name=server, begin=since: any(
                call.server == name and call.began > begin for call in list(load.calls)), PATIENCE_S)

    def assert_share(self, load, server, at_most):
        """Checks that at most this part of the calls of the last seconds went to the server."""
        now = time.monotonic()
        self.assertLessEqual(load.rate(now - STEADY_S, now, server), at_most * load.rate(now - STEADY_S, now), server)

    def test_changes_under_load(self):
        with ChangingFleet() as fleet:
            with fleet.load(connection_s=math.inf) as load:  # so that only the choice for each call spreads them
                time.sleep(STEADY_S)
                self.steady = self.rate_now(load)
                self.change(fleet, load, fleet.kill_server, self.recovers)
                fleet.start_killed_server()
                self.change(fleet, load, fleet.drain, self.links(fleet, 5, 0))
                fleet.start_drained()
                self.change(fleet, load, fleet.add, self.links(fleet, 8, len(CLIENT_HOSTS)))
                self.change(fleet, load, fleet.kill_host, self.links(fleet, 4, 0))
                self.change(fleet, load, fleet.cut_off, self.links(fleet, 6, 0))
                fleet.connect()
                self.change(fleet, load, fleet.slow_down, self.recovers)
                self.assert_share(load, "host-7", 0.1)
                fleet.speed_up()
                self.assert_returned(fleet, load)
                lanes = calls_by_lane(fleet.nodes[number] for number in CLIENT_HOSTS)
            outcomes = collections.Counter((call.idempotent, call.outcome) for call in load.calls)
            print(f"outcomes (idempotent, outcome): {dict(outcomes)}; by lanes: {lanes}")
            self.assertEqual(wrong_calls(load.calls, executed(fleet.folder)), [])
            self.assertGreater(lanes, len(load.calls) / 2, "calls that RDMA lanes carried")
            added = [call.ended for call in load.calls if call.server == "host-8" and call.outcome == OK]
            at = next(when for when, text in fleet.changes if text.startswith("host-8"))
            self.assertLess(min(added) - at, PATIENCE_S, "the added server gets calls")


if __name__ == "__main__":
    main_in_a_network_namespace(*TOOLS, files=[RESOLV_CONF])
