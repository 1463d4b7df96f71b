# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/setting.py: starts the programs that every scenario needs: a server, two nodes, and clients.

The command line of a scenario is `scenario_test.py PROGRAMS PEERS`. PROGRAMS is the folder of hatrpcd, and PEERS is the
folder of the built test clients and servers.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
PROGRAMS, PEERS = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
sys.path[:0] = [str(PEERS / "python" / "gen"), str(PEERS / "python" / "site")]

import hatrpc  # noqa: E402
from caller_threads import CallerThreads  # noqa: E402
from nodes import Server, TwoNodes, ask, hatrpc_address  # noqa: E402
from peers import IDL, Peers  # noqa: E402
from probe import ProbeOfTomorrow  # noqa: E402
from thrift.protocol import TBinaryProtocol  # noqa: E402
from thrift.Thrift import TApplicationException  # noqa: E402
from thrift.transport import TSocket, TTransport  # noqa: E402


def manifest():
    """Returns the manifest that hintgen writes for Probe."""
    return subprocess.run([PROGRAMS / "hintgen", IDL], capture_output=True, text=True,
                          check=True).stdout


def manifest_with(hints):
    """Returns the manifest of Probe, with hints for some functions. `hints`: the hints of both sides, by function."""
    text = yaml.safe_load(manifest())
    for name, function in text["services"]["Probe"]["functions"].items():
        for key in ("hint", "c_hint", "s_hint"):
            function.pop(key, None)
        if name in hints:
            function["hint"] = hints[name]
    return yaml.safe_dump(text)


def start_server(address="127.0.0.1:0", language="cpp", options=()):
    return Server(*Peers(PEERS).command(language, "server"), [(address, list(options))])


class Client:
    """A stock client with framed transport and binary protocol; a context manager.

    Connects to host-a's endpoint of `service`, or to `address` if it is given. Sets TCP_NODELAY, as the stock clients of
    most languages do and Python's does not: otherwise each call after a oneway call would wait 40 ms for the server's
    delayed acknowledgement.
    """

    def __init__(self, nodes, service="Probe", timeout_ms=30_000, address=None):
        address = address or nodes.endpoints[service].removeprefix("tcp:")
        host, _, port = address.rpartition(":")
        self.socket = (hatrpc.TShmSocket(address) if host == "shm" else
                       TSocket.TSocket(unix_socket=port) if host == "unix" else
                       TSocket.TSocket(host, int(port)))
        self.socket.setTimeout(timeout_ms)
        self.transport = TTransport.TFramedTransport(self.socket)
        self.calls = ProbeOfTomorrow.Client(TBinaryProtocol.TBinaryProtocol(self.transport))

    def __enter__(self):
        self.transport.open()
        if isinstance(self.socket, TSocket.TSocket) and self.socket.handle.family in (socket.AF_INET, socket.AF_INET6):
            self.socket.handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.calls

    def __exit__(self, *_):
        self.transport.close()


class Callers(CallerThreads):
    """Threads that make calls until the block ends, each with a Client of its own. A context manager.

    call(client, number) makes one call; the first number of each thread is 1. A thread ends with an entry in `errors`
    when its call raises an exception whose text does not have `permitted`. After one that has it, the thread connects
    again.
    """

    def __init__(self, nodes, count, call, permitted=None):
        self.nodes, self.call, self.permitted = nodes, call, permitted
        self.errors, self.calls = [], 0
        super().__init__([()] * count)

    def run(self):
        number = 0
        while self.going:
            try:
                with Client(self.nodes) as calls:
                    while self.going:
                        number += 1
                        self.call(calls, number)
                        self.calls += 1
            except Exception as error:  # of any kind: it is a call that has failed
                if self.permitted is None or self.permitted not in str(error):
                    self.errors.append(f"{error!r}: {error}")
                    return


@contextlib.contextmanager
def stopped(server):
    """While the block runs, the server does not answer."""
    os.kill(server.process.pid, signal.SIGSTOP)
    # One thread after the other stops, and until then the server can still answer.
    os.waitid(os.P_PID, server.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    try:
        yield
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


@contextlib.contextmanager
def probe_nodes(server=None, manifest_text=None, programs=PROGRAMS, **more):
    """Starts two nodes; yields them. host-b serves the test server `server`, by default a new C++ server."""
    own = server or start_server()
    try:
        with TwoNodes(programs, manifest_text or manifest(), {"Probe": hatrpc_address(own.addresses[0])},
                      **more) as nodes:
            yield nodes
    finally:
        if server is None:
            own.stop()


def edit(node, change):
    """Changes the configuration file of a node; `change` gets the configuration and edits it."""
    config = json.loads(node.config.read_text(encoding="utf-8"))
    change(config)
    node.config.write_text(json.dumps(config, indent=1), encoding="utf-8")


def calls_in(node):
    """Returns the number of calls of Probe.add that the node's server has answered."""
    status, page = ask(node.admin, "GET", "/metrics")
    assert status == 200, page
    return sum(int(calls) for labels, calls in re.findall(r"^hatrpc_requests_total\{(.*)\} (\d+)$", page, re.MULTILINE)
               if 'thrift_method="add"' in labels and 'side="server"' in labels)


class Scenario(unittest.TestCase):
    def assert_fails(self, call, token):
        """Checks that the call raises hatrpcd's TApplicationException with this reason; returns the exception."""
        with self.assertRaises(TApplicationException) as caught:
            call()
        self.assertIn(f"hatrpcd: {token}: ", caught.exception.message)
        return caught.exception


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
