#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/k8s/example_test.py: runs the example of deploy/k8s with two nodes: example_test.py PROGRAMS.

The nodes use the overlay's hatrpcd.yaml, but with ports and folders of this machine. The example's client calls the
example's server through the nodes.
"""

import http.client
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from deployment import K8S, all_yaml, base_manifests, write_certificates, write_node  # noqa: E402
from nodes import ask, free_ports, wait_until  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's thrift module
NODES = ("worker-1", "worker-2")


class Process:
    """A program with a log file of its own; a context manager that ends the program with SIGTERM."""

    def __init__(self, folder, name, words, **environment):
        self.log_file = folder / f"{name}.log"
        with open(self.log_file, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([str(word) for word in words], stdout=log, stderr=log,
                                            env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.status = self.process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def log(self):
        return self.log_file.read_text(encoding="utf-8")


class Cluster(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hatrpc-k8s-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        subprocess.run(["thrift", "--gen", "py", "-out", self.folder,
                        K8S / "example" / "calculator.thrift"], check=True)
        ports = iter(free_ports(1 + 3 * len(NODES)))
        self.server_port = next(ports)
        write_certificates(PROGRAMS, self.folder / "secret")
        self.ports = {node: {"link": next(ports), "endpoint": next(ports), "admin": next(ports)}
                      for node in NODES}

    def run_process(self, name, *words, **environment):
        return self.enterContext(Process(self.folder, name, words, **environment))

    def python(self, name, script, *words):
        return self.run_process(name, PYTHON, K8S / "example" / script, *words,
                                PYTHONPATH=str(self.folder), PYTHONDONTWRITEBYTECODE="1")

    def start_node(self, name):
        own, folder = self.ports[name], self.folder / name
        folder.mkdir()
        text = (K8S / "overlays" / "no-rdma" / "hatrpcd.yaml").read_text(encoding="utf-8")
        file = write_node(folder, text, base_manifests(), {
            "tcp:$POD_IP:7471": f"tcp:$POD_IP:{own['link']}",
            "tcp:10.0.0.11:7471": f"tcp:127.0.0.1:{self.ports['worker-1']['link']}",
            "tcp:10.0.0.12:7471": f"tcp:127.0.0.1:{self.ports['worker-2']['link']}",
            "tcp:$POD_IP:9090": f"tcp:$POD_IP:{own['endpoint']}",
            "tcp:$POD_IP:9464": f"tcp:$POD_IP:{own['admin']}",
            "calculator-server.calculator.svc.cluster.local:9090": f"127.0.0.1:{self.server_port}",
            "/run/hatrpcd-admin": str(folder),
            "/run/hatrpcd/": f"{folder}/"})
        (folder / "tls").symlink_to(self.folder / "secret")
        node = self.run_process(name, PROGRAMS / "hatrpcd", "--config", file, NODE_NAME=name, POD_IP="127.0.0.1")
        wait_until(f"{name} listens: {node.log()}", lambda: ask(
            folder / "admin.sock", "GET", "/healthz/live")[0] == 200, seconds=30)
        return node

    def http_get(self, node, path):
        """Sends GET to the node's admin port; returns (status, body)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[node]["admin"], timeout=20)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def served(self, node):
        """Returns the number of calls that the node's own server has answered."""
        labels = ('side="server"', 'thrift_method="add"', 'outcome="success"')
        return sum(float(line.rpartition(" ")[2]) for line in self.http_get(node, "/metrics")[1].split("\n")
                   if line.startswith("hatrpc_requests_total{") and all(one in line for one in labels))

    def calls(self, address):
        """Runs the client for one call; returns its exit status and output."""
        done = subprocess.run(
            [PYTHON, K8S / "example" / "client.py", address, "1"], capture_output=True, text=True,
            check=False, timeout=60, env={"PYTHONPATH": str(self.folder)})
        return done.returncode, done.stdout + done.stderr

    def test_clients_reach_the_servers_of_every_node(self):
        server = self.python("server", "server.py", f"127.0.0.1:{self.server_port}")
        wait_until(f"the server listens: {server.log()}", lambda: socket.create_connection(
            ("127.0.0.1", self.server_port), timeout=20).close() is None, seconds=30)
        nodes = {name: self.start_node(name) for name in NODES}
        for name in NODES:
            for probe in self.probes():
                with self.subTest(name, probe=probe):
                    wait_until(f"{probe} is 200", lambda: self.http_get(name, probe)[0] == 200,
                               seconds=30)
            for address in (f"127.0.0.1:{self.ports[name]['endpoint']}",
                            str(self.folder / name / "calculator.sock")):
                with self.subTest(name, address=address):
                    self.assertEqual(self.calls(address), (0, "0 + 1 = 1\n"))
            self.assertIn(f"node {name} runs", nodes[name].log())
        # Calls from worker-1 must reach the servers of both nodes in turn.
        address = f"127.0.0.1:{self.ports['worker-1']['endpoint']}"
        for name in NODES:
            before = self.served(name)
            wait_until(f"{name} has served a call", lambda: self.calls(address)[0] == 0 and
                       self.served(name) > before, seconds=30)

    def test_a_node_without_a_server_says_so(self):
        self.start_node("worker-1")
        status, told = self.calls(f"127.0.0.1:{self.ports['worker-1']['endpoint']}")
        self.assertEqual(status, 1)
        self.assertRegex(told, "hatrpcd: (upstream_unreachable|peer_unreachable): ")

    def probes(self):
        """Returns the HTTP paths that Kubernetes and Prometheus use: those of the DaemonSet's probes, and /metrics."""
        daemon_set, = all_yaml((K8S / "base" / "daemonset.yaml").read_text(encoding="utf-8"))
        container, = daemon_set["spec"]["template"]["spec"]["containers"]
        found = {probe["httpGet"]["path"] for key, probe in container.items() if "Probe" in key}
        self.assertTrue(found)
        return sorted(found | {"/metrics"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
