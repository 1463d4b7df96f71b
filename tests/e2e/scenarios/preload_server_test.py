# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/preload_server_test.py: the preloaded library lets unchanged servers accept connections over rings.

In tests that must use a ring, no process listens at the TCP address to which the clients connect.
"""

import contextlib
import json
import os
import pathlib
import signal
import socket
import stat
import subprocess
import tempfile

from setting import PEERS, PROGRAMS, Client, Scenario, main, manifest
from nodes import Server, TwoNodes, free_ports
from peers import PYTHON, Peers
from preloading import StockScenario, both_ways, preloaded
from raw_ring import greeting

HERE = pathlib.Path(__file__).resolve().parent
WAYS = ("blocking", "poll", "select", "epoll", "edge", "asyncio", "fork", "prefork")
# Tests of preloaded_program.py, which is the client.
SOME = ("Blocking.test_echo", "Blocking.test_half_close", "Blocking.test_what_the_socket_says_of_itself",
        "Blocking.test_big_both_ways", "Waiting.test_epoll_edge", "Waiting.test_asyncio")


class EchoServer:
    """preloaded_server.py with the preloaded library, and a ring. A context manager."""

    def __init__(self, way="blocking", host="127.0.0.1", listed="127.0.0.1", path=None, umask=0o22):
        self.folder = tempfile.TemporaryDirectory(prefix="hatrpc-e2e-")
        self.path = path or pathlib.Path(self.folder.name) / "echo.ring"
        self.host, self.umask = host, umask
        self.port, self.nobody = free_ports(2)
        words = [PYTHON, HERE / "preloaded_server.py", host, self.port, way]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*map(str, words)], stdout=subprocess.PIPE, stderr=self.errors, umask=umask, process_group=0,
            env=preloaded(listen={f"{listed}:{self.port}": self.path}))
        line = self.process.stdout.readline()
        assert line == b"listening\n", self.said()

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # some ways start further processes
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()
        self.folder.cleanup()

    def over_the_ring(self, tests):
        rings = {f"127.0.0.1:{self.nobody}": self.path}
        return self.run_program("127.0.0.1", self.nobody, tests, preloaded(rings))

    def over_tcp(self, tests):
        return self.run_program(self.host if self.host not in ("0.0.0.0", "::") else "127.0.0.1", self.port,
                                tests, None)

    @staticmethod
    def run_program(host, port, tests, environment):
        words = [PYTHON, HERE / "preloaded_program.py", host, port, *tests]
        return subprocess.run([*map(str, words)], env=environment, text=True, capture_output=True, check=False,
                              timeout=100)

    def seconds_of_an_echo(self):
        code = ("import socket, sys, time\nbegun = time.monotonic()\n"
                "with socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=30) as stream:\n"
                "  stream.sendall(b'x')\n  assert stream.recv(1) == b'x'\nprint(time.monotonic() - begun)")
        environment = preloaded({f"127.0.0.1:{self.nobody}": self.path})
        done = subprocess.run([PYTHON, "-c", code, str(self.nobody)], env=environment, text=True,
                              capture_output=True, check=True, timeout=60)
        return float(done.stdout)

    def silent_client(self, data=b""):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(30)
        client.connect(str(self.path))
        client.sendall(data)
        return client


class EchoServers(Scenario):
    def check(self, server, tests=SOME):
        for done in (server.over_the_ring(tests), server.over_tcp(tests[:1])):
            self.assertEqual(done.returncode, 0, done.stderr + server.said())

    def test_every_way_to_wait(self):
        for way in WAYS:
            with self.subTest(way), EchoServer(way) as server:
                self.check(server)

    def test_everything_that_a_client_does(self):
        with EchoServer() as server:
            self.check(server, ("Blocking.test_echo", "Blocking", "Descriptors", "Waiting", "Processes", "Memory"))

    def test_a_program_that_gets_the_connection_as_its_input(self):
        with EchoServer("inetd") as server:
            self.check(server, ("Blocking.test_echo",))

    def test_over_ipv6_and_at_wildcard_addresses(self):
        for host, listed in (("::1", "[::1]"), ("0.0.0.0", "127.0.0.1"), ("::", "127.0.0.1"), ("::", "[::1]")):
            with self.subTest(host=host, listed=listed), EchoServer(host=host, listed=listed) as server:
                self.check(server, SOME[:2])

    def test_the_ring_is_open_to_its_user_and_group(self):
        for umask in (0, 0o77):
            with EchoServer(umask=umask) as server:
                self.assertEqual(stat.S_IMODE(server.path.stat().st_mode), 0o660)

    def test_another_address_has_no_ring(self):
        with EchoServer(listed="127.0.0.2") as server:
            self.assertFalse(server.path.exists())
            self.assertEqual(server.over_tcp(SOME[:1]).returncode, 0)


class Faults(Scenario):
    def test_clients_that_send_nothing_or_garbage(self):
        garbage = (b"", b"h", b"GET / HTTP/1.1\r\n\r\n" * 9, greeting(magic=b"HATRING\n"), greeting(version=0),
                   greeting()[:31])
        for way in ("blocking", "poll", "epoll", "edge", "asyncio", "prefork"):
            with self.subTest(way), EchoServer(way) as server, contextlib.ExitStack() as hostile:
                for data in (*garbage * 5, *[b""] * 60):
                    hostile.enter_context(server.silent_client(data))
                # A wait of 10 ms for each of the silent clients would take 0.7 s.
                self.assertLess(server.seconds_of_an_echo(), 0.4)
                done = server.over_the_ring(SOME[:1])
                self.assertEqual(done.returncode, 0, done.stderr + server.said())
                self.assertEqual(server.over_tcp(SOME[:1]).returncode, 0)

    def test_a_server_that_is_killed(self):
        with EchoServer() as server, EchoServer() as other, socket.socket(socket.AF_UNIX) as client:
            client.settimeout(30)
            client.connect(str(server.path))
            client.sendall(greeting())
            self.assertEqual(len(client.recv(32, socket.MSG_WAITALL)), 32)
            server.process.kill()
            # If the server has not read all bytes, such as the last one of the greeting, the socket is reset.
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(client.recv(1), b"")
            server.process.wait()
            with EchoServer(path=server.path) as successor:
                self.assertEqual(successor.said(), "")
                self.assertEqual(successor.over_the_ring(SOME[:1]).returncode, 0)
            self.assertEqual(other.over_the_ring(SOME[:1]).returncode, 0)

    def test_a_path_that_is_in_use(self):
        with EchoServer() as server, EchoServer(path=server.path) as second:
            self.assertIn(f"libhatrpc-preload: HATRPC_LISTEN_RINGS: cannot listen at {server.path}: Address already "
                          "in use", second.said())
            self.assertEqual(second.over_tcp(SOME[:1]).returncode, 0)
            self.assertEqual(server.over_the_ring(SOME[:1]).returncode, 0)

    def test_a_file_at_the_path(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "file"
            path.write_text("somebody's", encoding="utf-8")
            with EchoServer(path=path) as server:
                self.assertIn("cannot listen at", server.said())
                self.assertEqual(server.over_tcp(SOME[:1]).returncode, 0)
            self.assertEqual(path.read_text(encoding="utf-8"), "somebody's")
            with EchoServer(path=pathlib.Path(folder) / "not_there" / "ring") as server:
                self.assertIn("No such file or directory", server.said())


class ListeningSockets(Scenario):
    def run_program(self, name):
        port, nobody = free_ports(2)
        with tempfile.TemporaryDirectory(prefix="hatrpc-e2e-") as folder:
            path = f"{folder}/own.ring"
            words = [PYTHON, HERE / name, port, nobody, path]
            environment = preloaded({f"127.0.0.1:{nobody}": path}, {f"127.0.0.1:{port}": path})
            done = subprocess.run([*map(str, words)], env=environment, text=True, capture_output=True, check=False,
                                  timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_everything_that_a_listening_socket_does(self):
        self.run_program("preloaded_listener.py")

    def test_shared_sockets_and_clients_that_do_not_read(self):
        self.run_program("preloaded_workers.py")

    def test_mistakes_are_told_once(self):
        code = ("import socket\nfor _ in range(2):\n  with socket.create_server(('127.0.0.1', 0)): pass\n")
        done = subprocess.run([PYTHON, "-c", code], env=preloaded(listen={"localhost": "here"}), text=True,
                              capture_output=True, check=True, timeout=60)
        self.assertEqual(done.stderr.count("libhatrpc-preload: HATRPC_LISTEN_RINGS: 'localhost=here' is not"), 1)


class StockServers(StockScenario):
    """Stock Thrift servers, which hatrpcd reaches over rings alone; the clients use a ring, too."""

    def serve(self, language, kind, clients, transport="framed", skip=()):
        port, nobody = free_ports(2)
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="hatrpc-e2e-"))
        ring = f"{folder}/server.ring"
        command, more = Peers(PEERS).command(language, "server")
        address = f"127.0.0.1:{port}"
        options = ["--transport", transport, *(["--server", kind] if kind else [])]
        server = Server(command, {**preloaded(listen={address: ring}), **more}, [(address, options)])
        try:
            with both_ways(f"shm:{ring}") as (_, path):
                for client in clients:
                    with self.subTest(client=client):
                        self.run_client(client, transport, f"127.0.0.1:{nobody}",
                                        preloaded({f"127.0.0.1:{nobody}": path}), skip)
            self.run_client("cpp", transport, address, os.environ, skip)
        finally:
            server.stop()

    def test_cpp_threaded(self):
        self.serve("cpp", "", ["cpp", "python"], "buffered")

    def test_cpp_nonblocking(self):
        self.serve("cpp", "nonblocking", ["cpp"])

    def test_cpp_pool(self):
        self.serve("cpp", "threadpool", ["cpp"])

    def test_python_threaded(self):
        self.serve("python", "", ["cpp"])

    def test_java(self):
        self.serve("java", "", ["java"])

    def test_java_nonblocking(self):
        self.serve("java", "selector", ["cpp"])

    def test_node(self):
        self.serve("node", "", ["node"], skip=["unknown_method"])


class HatctlRun(StockScenario):
    """Stock programs that `hatctl run` starts, with the rings that the daemons' configurations list."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hatrpc-e2e-")))
        self.port = free_ports(1)[0]
        self.server_ring = self.folder / "server.ring"
        self.nodes = TwoNodes(PROGRAMS, manifest(), {"Probe": f"tcp:127.0.0.1:{self.port}"}, http=True)
        for node, key, ring in ((self.nodes.a, "endpoints", self.folder / "client.ring"),
                                (self.nodes.b, "serves", self.server_ring)):
            config = json.loads(node.config.read_text())
            places = config[key] if key == "endpoints" else config[key].values()
            for place in places:
                place["ring"] = str(ring)
            node.config.write_text(json.dumps(config))
        self.enterContext(self.nodes)
        self.address = self.nodes.endpoints["Probe"].removeprefix("tcp:")

    @staticmethod
    def hatctl(node, *words):
        return [str(PROGRAMS / "hatctl"), "run", "--socket", str(node.admin), *words]

    def serve(self, prefix, environment=None):
        command, more = Peers(PEERS).command("cpp", "server")
        server = Server([*prefix, *command], {**(environment or {}), **more},
                        [(f"127.0.0.1:{self.port}", ["--transport", "framed"])])
        self.addCleanup(server.stop)
        return server

    def uses_a_ring(self, process):
        return "hatrpc-ring" in pathlib.Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8")

    def call(self, prefix=()):
        command, more = Peers(PEERS).command("cpp", "client")
        words = [*prefix, *command, "--connect", self.address, "--transport", "framed", "--protocol", "binary",
                 "--large", str(1 << 20)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, **more})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_both_sides_use_rings(self):
        server = self.serve(self.hatctl(self.nodes.b, "--"))
        self.call(self.hatctl(self.nodes.a, "--"))
        with socket.create_connection(("127.0.0.1", self.port)):  # the server's TCP address is still there
            pass
        code = (f"import socket\nstream = socket.create_connection(('127.0.0.1', {self.address.rpartition(':')[2]}))\n"
                "print('hatrpc-ring' in open('/proc/self/maps').read())")
        done = subprocess.run(self.hatctl(self.nodes.a, "--", PYTHON, "-c", code), capture_output=True, text=True,
                              check=True, timeout=60)
        self.assertEqual((done.stdout, done.stderr), ("True\n", ""))
        with Client(self.nodes) as calls:
            self.assertEqual(calls.add(1, 2), 3)
            self.assertTrue(self.uses_a_ring(server.process))

    def test_a_server_without_rings_is_reached_over_tcp(self):
        server = self.serve([])
        self.call()
        self.assertFalse(self.uses_a_ring(server.process))
        log = self.nodes.b.log()
        self.assertIn(f"serves.Probe: no connection to shm:{self.server_ring}: No such file or directory", log)
        server.process.terminate()
        server.process.wait(30)
        again = self.serve(self.hatctl(self.nodes.b, "--"))
        with Client(self.nodes) as calls:
            self.assertEqual(calls.add(1, 2), 3)
            self.assertTrue(self.uses_a_ring(again.process))

    def fails(self, words, status, text):
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(text, done.stderr)

    def test_exit_statuses(self):
        node = self.nodes.a
        self.fails(self.hatctl(node, "--", "sh", "-c", "exit 7"), 7, "")
        self.fails(self.hatctl(node, "--", "/not/there"), 127, "cannot run /not/there: No such file or directory")
        self.fails(self.hatctl(node, "--", "/etc/passwd"), 126, "cannot run /etc/passwd: Permission denied")
        self.fails(self.hatctl(node, "--library", "/not/there.so", "--", "true"), 125, "libhatrpc-client")
        self.fails([PROGRAMS / "hatctl", "run", "--socket", f"{self.folder}/nobody.sock", "--", "true"], 125,
                   f"{self.folder}/nobody.sock")
        self.fails(self.hatctl(node), 2, "PROGRAM")

    def test_a_user_who_may_not_use_the_admin_socket(self):
        done = subprocess.run([PROGRAMS / "hatctl", "run", "--http", f"tcp:{self.nodes.a.http}", "--", "sh", "-c",
                               "echo $HATRPC_RINGS"], capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(done.stdout, f"{self.address}={self.folder}/client.ring\n")

    def test_adds_to_variables_that_are_set(self):
        done = subprocess.run(self.hatctl(self.nodes.a, "--", "sh", "-c", "echo $HATRPC_RINGS; echo $HATRPC_LISTEN_RINGS"),
                              capture_output=True, text=True, check=True, timeout=60,
                              env={**os.environ, "HATRPC_RINGS": "127.0.0.1:1=/own"})
        self.assertEqual(done.stdout, f"127.0.0.1:1=/own,{self.address}={self.folder}/client.ring\n\n")

    def test_a_ring_that_is_not_there(self):
        (self.folder / "client.ring").unlink()
        done = subprocess.run(self.hatctl(self.nodes.a, "--", "true"), capture_output=True, text=True, check=True,
                              timeout=60)
        self.assertIn(f"hatctl: warning: {self.folder}/client.ring: No such file or directory; connections to "
                      f"tcp:{self.address} use TCP", done.stderr)


if __name__ == "__main__":
    main()
