# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/trdma_test.py: C++ programs with TRdma and TServerRdma, alone and with a hatrpcd at one end.

The programs run the same cases as the test clients of every language.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types

from setting import PEERS, PROGRAMS, Client, Scenario, calls_in, main, manifest, manifest_with, probe_nodes
from nodes import Node, Server, ask, free_ports, wait_until
from peers import LARGE_BYTES, SMALLER_BYTES, Peers

import hatrpc
from probe import ProbeOfTomorrow
from thrift.protocol import TBinaryProtocol
from thrift.transport import TTransport
from thrift.transport.TTransport import TTransportException

LIBRARIES = PEERS.parent / "lib"
# A Python program that serves Probe.add at a free port, which it prints.
PYTHON_SERVER = """
import hatrpc, sys
from probe import Probe
from thrift.protocol import TBinaryProtocol
from thrift.server import TServer
from thrift.transport import TTransport
class Handler:
    def add(self, left, right): return left + right
socket = hatrpc.TServerRdma("127.0.0.1", 0, config_file=sys.argv[1], manifest_file=sys.argv[2])
class Server(TServer.TThreadedServer):
    def serve(self):
        socket.listen = lambda listen=socket.listen: (listen(), print(socket.port, flush=True))
        super().serve()
Server(Probe.Processor(Handler()), socket, TTransport.TFramedTransportFactory(),
       TBinaryProtocol.TBinaryProtocolFactory(), daemon=True).serve()
"""

INSECURE = {"link": {"insecure": True}}
HINTS = {name: {"perf_goal": "latency", "payload_size": "64B"} for name in ("add", "nothing")}
COMBINATIONS = [(transport, protocol) for transport, protocols in (
    ("framed", ("binary", "compact", "json")), ("buffered", ("binary", "compact", "json")),
    ("header", ("binary", "compact")), ("framed_header", ("binary",)), ("zlib", ("binary",)))
    for protocol in protocols]


def certificates(folder, *nodes):
    subprocess.run([PROGRAMS / "hatctl", "certs", "make", folder, *nodes, "--days", "1"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def tls(folder, node):
    return {"tls": {"certificate": f"{folder}/{node}.pem", "key": f"{folder}/{node}.key", "ca": f"{folder}/ca.pem"}}


class TRdma(Scenario):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="hatrpc-e2e-")
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.manifest = self.folder / "probe.yaml"
        self.manifest.write_text(manifest_with(HINTS))

    def options(self, name, config):
        """Returns the options of a program with TRdma; writes `config` to a file."""
        file = self.folder / f"{name}.yaml"
        file.write_text(json.dumps(config))
        return ["--rdma-config", file, "--rdma-manifest", self.manifest]

    @contextlib.contextmanager
    def server(self, options, combinations=(("framed", "binary"),), host="127.0.0.1"):
        """Starts a test server with a TServerRdma for each combination of transport and protocol; yields addresses."""
        server = Server(*Peers(PEERS).command("cpp", "server"),
                        [(f"rdma:{host}:0", [str(word) for word in (*options, "--transport", transport,
                                                                    "--protocol", protocol)])
                         for transport, protocol in combinations])
        try:
            yield server.addresses
        finally:
            server.stop()

    def run_client(self, addresses, options, combinations=(("framed", "binary"),), cases=()):
        """Runs a client for each address, with all cases or those in `cases`; returns the lines with the results."""
        command, _ = Peers(PEERS).command("cpp", "client")
        words = [*command]
        for address, (transport, protocol) in zip(addresses, combinations):
            large = LARGE_BYTES if (transport, protocol) == ("framed", "binary") else SMALLER_BYTES
            words += ["--connect", address, *options, "--transport", transport, "--protocol", protocol,
                      "--large", large]
            for case in cases:
                words += ["--case", case]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=200)
        return [line for line in done.stdout.splitlines() if line.startswith(("ok ", "FAIL "))] or [done.stderr]

    def assert_all_pass(self, lines, at_least):
        self.assertEqual([line for line in lines if not line.startswith("ok ")], [])
        self.assertGreaterEqual(len(lines), at_least)

    def test_every_case_passes_over_every_transport(self):
        for fabric in ("loop", "tcp"):
            with self.subTest(fabric):
                options = self.options(fabric, {"fabric": fabric, **INSECURE})
                with self.server(options, COMBINATIONS) as addresses:
                    lines = self.run_client(addresses, options, COMBINATIONS)
                self.assert_all_pass(lines, 10 * len(COMBINATIONS))

    def test_a_client_calls_a_server_behind_hatrpcd(self):
        with probe_nodes(manifest_text=manifest_with(HINTS), fabric="loop") as nodes:
            options = self.options("client", {"fabric": "loop", **INSECURE})
            lines = self.run_client([f"rdma:127.0.0.1:{nodes.link}"], options)
            self.assert_all_pass(lines, 10)
            self.assertGreater(calls_in(nodes.b), 0)

    def node(self, port, link=None, peer=None):
        """Returns a node whose clients call the TServerRdma at this port, at the endpoint `self.endpoint`."""
        self.endpoint = f"tcp:127.0.0.1:{free_ports(1)[0]}"
        (self.folder / "manifests").mkdir(exist_ok=True)
        (self.folder / "manifests" / "probe.yaml").write_text(manifest_with(HINTS))
        return Node(PROGRAMS, self.folder, {
            "node": "host-a", "fabric": "loop", "link": link or {"insecure": True},
            "peers": {"server": {"link": f"tcp:127.0.0.1:{port}", **(peer or {})}},
            "endpoints": [{"listen": self.endpoint, "service": "Probe", "peers": ["server"]}]})

    @contextlib.contextmanager
    def running(self, node):
        node.start()
        try:
            yield node
        finally:
            self.assertEqual(node.stop(), 0, node.log()[-2000:])

    def lanes_carried(self, node):
        text = ask(node.admin, "GET", "/metrics")[1]
        return any(line.startswith("hatrpc_calls_total{") and 'fabric="loop"' in line and '"add"' in line
                   and not line.endswith(" 0") for line in text.splitlines())

    def test_clients_of_hatrpcd_call_a_server(self):
        options = self.options("server", {"node": "server", "fabric": "loop", **INSECURE})
        with self.server(options) as (address,):
            with self.running(self.node(address.rpartition(":")[2])) as node:
                lines = self.run_client([self.endpoint.removeprefix("tcp:")], [])
                self.assert_all_pass(lines, 10)
                ends = types.SimpleNamespace(endpoints={"Probe": self.endpoint})
                with Client(ends) as one, Client(ends) as other:  # on one link
                    wait_until("an RDMA lane has carried a call",
                               lambda: one.add(1, 2) == 3 and self.lanes_carried(node), seconds=30)
                    self.assertEqual(other.add(20, 3), 23)
                    self.assertEqual(len(one.echo(b"x" * 1_000_000)), 1_000_000)

    def test_links_with_tls(self):
        certs = self.folder / "certs"
        certificates(certs, "localhost", "client", "host-a")
        server = self.options("server", {"node": "server", "fabric": "loop", "link": tls(certs, "localhost")})
        client = self.options("client", {"fabric": "loop", "link": tls(certs, "client")})
        with self.server(server) as (address,):
            port = address.rpartition(":")[2]
            self.assert_all_pass(self.run_client([f"rdma:localhost:{port}"], client), 10)
            # The certificate does not have the address as a name.
            lines = self.run_client([f"rdma:127.0.0.1:{port}"], client, cases=["add"])
            self.assertIn("certificate", lines[0])
            self.assertTrue(lines[0].startswith("FAIL"), lines)
            lines = self.run_client([f"rdma:localhost:{port}"], self.options("plain", INSECURE), cases=["add"])
            self.assertTrue(lines[0].startswith("FAIL"), lines)
            with self.running(self.node(port, tls(certs, "host-a"), {"identity": "localhost"})):
                with Client(types.SimpleNamespace(endpoints={"Probe": self.endpoint})) as calls:
                    self.assertEqual(calls.add(20, 3), 23)

    def test_allow_rules_hold_at_a_server(self):
        certs = self.folder / "certs"
        certificates(certs, "localhost", "friend", "stranger")
        text = manifest().replace("  Probe:\n", "  Probe:\n    allow: [friend]\n", 1)
        self.assertIn("allow: [friend]", text)
        self.manifest.write_text(text)
        server = self.options("server", {"fabric": "loop", "link": tls(certs, "localhost")})
        with self.server(server) as (address,):
            target = f"rdma:localhost:{address.rpartition(':')[2]}"
            for name, begins in (("friend", "ok "), ("stranger", "FAIL ")):
                client = self.options(name, {"fabric": "loop", "link": tls(certs, name)})
                lines = self.run_client([target], client, cases=["add"])
                self.assertTrue(lines[0].startswith(begins), lines)
            self.assertIn("may not call", lines[0])

    def python_client(self, port, options):
        # The name under which the module loads the library is that of a library that is loaded.
        ctypes.CDLL(str(LIBRARIES / "libhatrpc-rdma.so"))
        socket = hatrpc.TRdma("127.0.0.1", port, config_file=options[1], manifest_file=options[3], service="Probe")
        socket.setTimeout(30_000)
        return socket, ProbeOfTomorrow.Client(TBinaryProtocol.TBinaryProtocol(TTransport.TFramedTransport(socket)))

    def test_python_clients_and_servers(self):
        options = self.options("both", {"fabric": "loop", **INSECURE})
        with self.server(options) as (address,):
            socket, calls = self.python_client(int(address.rpartition(":")[2]), options)
            socket.open()
            wait_until("an RDMA lane is up", lambda: calls.add(20, 3) == 23 and ": up" in socket.describe(), seconds=30)
            self.assertEqual(len(calls.echo(b"x" * 1_000_000)), 1_000_000)
            socket.close()
            self.assertFalse(socket.isOpen())
        with self.assertRaises(TTransportException) as caught:
            socket.open()
        self.assertEqual(caught.exception.type, TTransportException.NOT_OPEN)
        self.assertIn("Connection refused", caught.exception.message)
        path = os.pathsep.join([str(PEERS / "python" / "gen"), str(PEERS / "python" / "site")])
        with subprocess.Popen([sys.executable, "-c", PYTHON_SERVER, options[1], options[3]], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env={**os.environ, "PYTHONPATH": path, "LD_LIBRARY_PATH": str(LIBRARIES)}) as server:
            try:
                port = int(server.stdout.readline())
                self.assertEqual(self.run_client([f"rdma:127.0.0.1:{port}"], options, cases=["add"]), ["ok add"])
                socket, calls = self.python_client(port, options)
                socket.open()
                self.assertEqual(calls.add(20, 3), 23)
                socket.close()
            finally:
                server.kill()

    def test_wrong_options_of_python(self):
        with self.assertRaisesRegex(TypeError, "manifst: no option of TRdma; they are manifest, "):
            hatrpc.TRdma("127.0.0.1", 1, manifst="")

    def test_the_server_dies(self):
        options = self.options("both", {"fabric": "loop", **INSECURE})
        with self.server(options) as addresses:
            self.assert_all_pass(self.run_client(addresses, options, cases=["add"]), 1)
        lines = self.run_client(addresses, options, cases=["add"])
        self.assertIn("Connection refused", lines[0])


if __name__ == "__main__":
    main()
