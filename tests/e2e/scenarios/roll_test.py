# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/roll_test.py: rolls the daemons of twenty hosts one by one under load; no call may fail.

The hosts are network namespaces (tests/e2e/network.py). Each host has a daemon, a server, and clients that call the
servers of all hosts, whose daemons they find by a name in the DNS. The daemons share a certificate, as those of the
Kubernetes chart do. Every second host is rolled by a takeover. On the others the clients stop, as docs/operations.md
requires, and the daemon drains and starts again.
"""

import collections
import contextlib
import pathlib
import tempfile
import time
import unittest

from setting import PROGRAMS, Client, manifest
from certificates import Certificates
from changing_fleet import (ENDPOINT, LINK_PORT, SERVER_PORT, calls_by_lane, executed, loop_fabric, prepare,
                            start_recording_server, wait_for_server)
from fleet import main_in_a_network_namespace
from network import RESOLV_CONF, TOOLS, Network, hosts
from nodes import Node, wait_until
from recorded_load import OK, RecordedLoad

HOSTS = range(1, 21)
CALLERS = 2  # of each host
PAUSE_S = 0.1
PATIENCE_S = 60
STEADY_S = 0.5  # between two hosts
CALLS_MIN = 2000


class RollTest(unittest.TestCase):
    def setUp(self):
        self.ends = contextlib.ExitStack()
        self.addCleanup(self.ends.close)
        self.folder = pathlib.Path(self.ends.enter_context(tempfile.TemporaryDirectory(prefix="hatrpc-roll-")))
        prepare(self.folder, manifest())
        self.network = self.ends.enter_context(Network(HOSTS))
        self.network.dns.set(*hosts("fleet.example", *(host.address for host in self.network.hosts.values())))
        self.certificates = self.ends.enter_context(Certificates(PROGRAMS, "fleet"))
        servers = [start_recording_server(host, self.folder) for host in self.network.hosts.values()]
        for server in servers:
            self.ends.callback(self.end, server)
        for server in servers:
            wait_for_server(server)
        self.nodes = {number: self.start_node(host) for number, host in self.network.hosts.items()}

    @staticmethod
    def end(process):
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()

    def start_node(self, host):
        tls = self.certificates.tls("fleet")["tls"]
        node = Node(PROGRAMS, self.folder, {
            "node": host.name, "workers": 1, "fabric": loop_fabric(self.folder),
            "link": {"listen": f"tcp:{host.address}:{LINK_PORT}", "tls": {**tls, "allow": ["fleet"]}},
            "peers": {"fleet": {"link": f"dns:fleet.example:{LINK_PORT}", "serves": ["Probe"]}},
            "endpoints": [{"listen": f"tcp:{ENDPOINT}", "service": "Probe"}],
            "serves": {"Probe": {"upstream": f"tcp:127.0.0.1:{SERVER_PORT}", "mode": "shared"}}}, host=host)
        self.ends.callback(lambda: self.end(node.process))
        node.start()
        return node

    def wait_for_links(self, node):
        wait_until(f"all links of {node.name} are up", lambda: sum(
            link["up"] for link in node.get("/status")["links"]) == len(HOSTS), PATIENCE_S)

    def start_clients(self, number):
        load = RecordedLoad([self.network.hosts[number]] * CALLERS, lambda: Client(None, address=ENDPOINT), PAUSE_S)
        load.__enter__()
        self.ends.callback(load.__exit__)
        return load

    def test_takeovers_and_restarts_lose_no_call(self):
        for node in self.nodes.values():
            self.wait_for_links(node)
        loads = {number: [self.start_clients(number)] for number in HOSTS}
        began = time.monotonic()
        for number, node in self.nodes.items():
            if number % 2 == 0:
                old = node.take_over()
                self.assertEqual(old.wait(PATIENCE_S), 0, node.log())
            else:
                loads[number][-1].__exit__()  # the clients stop
                self.assertEqual(node.stop(seconds=PATIENCE_S), 0, node.log())
                node.start()
                loads[number].append(self.start_clients(number))
            self.wait_for_links(node)
            time.sleep(STEADY_S)
        seconds = time.monotonic() - began
        lanes = calls_by_lane(self.nodes.values())
        for load in (load for several in loads.values() for load in several):
            load.__exit__()
        calls = [call for several in loads.values() for load in several for call in load.calls]
        print(f"{len(calls)} calls in {seconds:.0f} s, {dict(collections.Counter(call.outcome for call in calls))}; "
              f"since each daemon's start, lanes carried {lanes}")
        self.assertEqual([call for call in calls if call.outcome != OK], [])
        times = executed(self.folder)
        self.assertEqual({call.name: times[call.name] for call in calls if times[call.name] != 1}, {},
                         "each call was executed once")
        self.assertGreater(len(calls), CALLS_MIN)
        self.assertGreater(lanes, len(calls) / 10)


if __name__ == "__main__":
    main_in_a_network_namespace(*TOOLS, files=[RESOLV_CONF])
