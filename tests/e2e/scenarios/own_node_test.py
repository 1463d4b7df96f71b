# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/own_node_test.py: a node takes its name from the environment, and is in its own list of peers.

So all nodes can use the same configuration file.
"""

import os
import pathlib
import re
import shutil
import tempfile
import types

from setting import PROGRAMS, Client, Scenario, main, manifest, start_server
from nodes import Node, ask, free_ports, hatrpc_address, wait_until


class OwnNode(Scenario):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hatrpc-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "manifests").mkdir()
        (self.folder / "manifests" / "probe.yaml").write_text(manifest())
        self.server = start_server()
        self.addCleanup(self.server.stop)
        os.environ["HAT_NODE_NAME"] = "worker-1"
        self.addCleanup(os.environ.pop, "HAT_NODE_NAME")

    def node(self, fabric):
        link, port = free_ports(2)
        self.endpoint = f"tcp:127.0.0.1:{port}"
        return Node(PROGRAMS, self.folder, {
            "node": "$HAT_NODE_NAME", "fabric": fabric,
            "link": {"listen": f"tcp:127.0.0.1:{link}", "insecure": True},
            "peers": {"worker-1": {"link": f"tcp:127.0.0.1:{link}"}},
            "endpoints": [{"listen": self.endpoint, "service": "Probe", "peers": ["worker-1"]}],
            "serves": {"Probe": {"upstream": hatrpc_address(self.server.addresses[0])}}})

    def carried_by_rdma(self, node):
        text = ask(node.admin, "GET", "/metrics")[1]
        return re.search(r'^hatrpc_calls_total\{[^}]*fabric="(?!tcp")[^}]*"add"[^}]*\} [1-9]', text, re.M)

    def test_its_clients_reach_its_own_servers(self):
        for fabric in ("tcp", "loop"):
            with self.subTest(fabric):
                node = self.node(fabric)
                try:
                    node.start()
                    with Client(types.SimpleNamespace(endpoints={"Probe": self.endpoint})) as calls:
                        self.assertEqual(calls.add(20, 3), 23)
                        if fabric == "loop":
                            wait_until("an RDMA lane has carried a call", lambda: calls.add(1, 2) == 3 and
                                       self.carried_by_rdma(node), seconds=30)
                        self.assertEqual(len(calls.echo(b"x" * 1_000_000)), 1_000_000)
                    self.assertIn("node worker-1 runs", node.log())
                finally:
                    self.assertEqual(node.stop(), 0, node.log()[-2000:])
                    shutil.rmtree(node.folder)


if __name__ == "__main__":
    main()
