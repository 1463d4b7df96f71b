# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/mesh_test.py: four nodes; each has one server, and clients of the other nodes' servers."""

import contextlib
import itertools
import logging
import pathlib
import re
import signal
import tempfile
import threading
import time
import types

from setting import PROGRAMS, Client, Scenario, main, manifest, start_server
from nodes import Node, ask, free_ports, hatrpc_address, wait_until

NAMES = ("host-a", "host-b", "host-c", "host-d")
PAIRS = tuple(itertools.permutations(NAMES, 2))
LEAST = 50  # calls that each caller must make in each phase
PATIENCE_S = 30
CARRIED_BY_RDMA = re.compile(r'^hatrpc_calls_total\{[^}]*fabric="(?!tcp")[^}]*"add"[^}]*\} [1-9]', re.MULTILINE)


class Caller(threading.Thread):
    """Calls in a loop from one node to another node's server. `reopen`: connect again after each failure."""

    def __init__(self, pair, endpoint, reopen=False):
        super().__init__(name=" to ".join(pair))
        self.nodes = types.SimpleNamespace(endpoints={"Probe": endpoint})
        self.reopen = reopen
        self.calls, self.failures = 0, []
        self.going = threading.Event()
        self.going.set()
        self.start()

    def run(self):
        while self.going.is_set():
            try:
                with Client(self.nodes) as calls:
                    while self.going.is_set():
                        self.call(calls)
                    calls.add(1, 2)  # its answer shows that the server has counted the last note(), a oneway call
            except Exception as error:  # check() judges the failures
                self.failures.append(getattr(error, "message", None) or repr(error))
                if not self.reopen:
                    return
                time.sleep(0.05)

    def call(self, calls):
        assert calls.add(self.calls, 1) == self.calls + 1, "the answer is not this call's"
        data = f"{self.name} {self.calls} ".encode() * 100
        assert calls.echo(data) == data, "the answer is not this call's"
        calls.note(self.name)
        self.calls += 1

    def end(self):
        self.going.clear()
        self.join()


class Mesh(Scenario):
    def setUp(self):
        logging.getLogger("thrift").setLevel(logging.CRITICAL)  # otherwise it logs each failure to connect to host-d
        folder = tempfile.TemporaryDirectory(prefix="hatrpc-mesh-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "manifests").mkdir()
        (self.folder / "manifests" / "probe.yaml").write_text(manifest(), encoding="utf-8")
        self.servers = {name: start_server() for name in NAMES}
        for server in self.servers.values():
            self.addCleanup(server.stop)

    @contextlib.contextmanager
    def nodes(self, fabric):
        ports = free_ports(len(NAMES) + len(PAIRS))
        links = {name: f"tcp:127.0.0.1:{port}" for name, port in zip(NAMES, ports)}
        endpoints = {pair: f"tcp:127.0.0.1:{port}" for pair, port in zip(PAIRS, ports[len(NAMES):])}
        with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory(dir=self.folder) as folder:
            (pathlib.Path(folder) / "manifests").symlink_to(self.folder / "manifests")
            nodes = {name: Node(PROGRAMS, pathlib.Path(folder), {
                "node": name, "fabric": fabric, "link": {"listen": links[name], "insecure": True},
                "peers": {peer: {"link": links[peer]} for peer in NAMES if peer != name},
                "endpoints": [{"listen": endpoint, "service": "Probe", "peers": [pair[1]]}
                              for pair, endpoint in endpoints.items() if pair[0] == name],
                "serves": {"Probe": {"upstream": hatrpc_address(self.servers[name].addresses[0])}},
            }) for name in NAMES}
            for node in nodes.values():
                node.start()
                stack.callback(lambda node=node: self.assertEqual(node.stop(), 0, node.log()[-2000:]))
            yield nodes, endpoints

    def go_on(self, callers):
        before = {caller: caller.calls for caller in callers}
        wait_until(f"every caller makes calls: {[(one.name, one.calls, one.failures[-1:]) for one in callers]}",
                   lambda: all(one.calls >= before[one] + LEAST for one in callers), PATIENCE_S)

    def count(self, server, who):
        with Client(None, address=self.servers[server].addresses[0]) as calls:
            return calls.count(who)

    def check(self, fabric):
        with self.nodes(fabric) as (nodes, endpoints):
            callers = {pair: Caller(pair, endpoint, reopen="host-d" in pair) for pair, endpoint in endpoints.items()}
            others = [caller for pair, caller in callers.items() if "host-d" not in pair]
            try:
                self.go_on(callers.values())
                if fabric == "loop":
                    wait_until("each node has lanes", lambda: all(
                        CARRIED_BY_RDMA.search(ask(node.admin, "GET", "/metrics")[1]) for node in nodes.values()),
                        PATIENCE_S)
                self.assertEqual([caller.failures for caller in callers.values()], [[]] * len(PAIRS))
                nodes["host-d"].stop(signal.SIGKILL)
                self.go_on(others)
                # A connection between two calls only ends when host-d is killed, and the next one is refused a call.
                to_d = [caller for (_, to), caller in callers.items() if to == "host-d"]
                wait_until("a call of each caller to host-d has failed", lambda: all(
                    any("hatrpcd: " in failure for failure in caller.failures) for caller in to_d), PATIENCE_S)
                nodes["host-d"].start()
                self.go_on(callers.values())
            finally:
                for caller in callers.values():
                    caller.end()
            self.assertEqual({caller.name: caller.failures for caller in others if caller.failures}, {})
            for pair, caller in callers.items():
                if "host-d" not in pair:
                    self.assertEqual(self.count(pair[1], caller.name), caller.calls)
                for server in NAMES:
                    if server != pair[1]:
                        self.assertEqual(self.count(server, caller.name), 0, f"calls of {caller.name} reached {server}")

    def test_over_tcp(self):
        self.check("tcp")

    def test_over_lanes(self):
        self.check("loop")


if __name__ == "__main__":
    main()
