# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/preload_test.py: the preloaded library moves unchanged programs' connections to rings.

In tests that must use a ring, no process listens at the TCP address to which the programs connect.
"""

import contextlib
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

from setting import PROGRAMS, Scenario, main, start_server
from nodes import free_ports
from peers import PYTHON
from preloading import StockScenario, both_ways, preloaded

PROGRAM = pathlib.Path(__file__).resolve().parent / "preloaded_program.py"
BEGIN = "import os, select, socket, sys, time; stream = socket.create_connection(('127.0.0.1', %d));"


@contextlib.contextmanager
def ring_echo(words=""):
    """Starts a server on a ring that sends `words`, and then sends back all bytes. Yields its process and its path."""
    with tempfile.TemporaryDirectory(prefix="hatrpc-e2e-") as folder:
        path = pathlib.Path(folder) / "echo.ring"
        with subprocess.Popen([PROGRAMS / "ring_echo", path, words], stdout=subprocess.PIPE) as echo:
            try:
                assert echo.stdout.readline() == b"listening\n"
                yield echo, path
            finally:
                echo.kill()


class StockClients(StockScenario):
    def run_clients(self, languages, ways):
        """Runs the clients of `languages` over each transport.

        `ways(endpoint, ring)` must return the address to connect to, and the rings for preloaded().
        """
        for transport in ("framed", "buffered"):
            server = start_server(options=["--transport", transport])
            self.addCleanup(server.stop)
            with both_ways(server.addresses[0]) as (nodes, path):
                address, rings = ways(nodes.endpoints["Probe"].removeprefix("tcp:"), path)
                for language in languages:
                    with self.subTest(language=language, transport=transport):
                        self.run_client(language, transport, address, preloaded(rings))

    def over_the_ring(self, language):
        nobody = f"127.0.0.1:{free_ports(1)[0]}"
        self.run_clients([language], lambda _, path: (nobody, {nobody: path}))

    def test_cpp_over_the_ring(self):
        self.over_the_ring("cpp")

    def test_python_over_the_ring(self):
        self.over_the_ring("python")

    def test_java_over_the_ring(self):
        self.over_the_ring("java")

    def test_node_over_the_ring(self):
        self.over_the_ring("node")

    def test_no_ring_at_the_path(self):
        self.run_clients(["cpp", "python", "java", "node"],
                         lambda tcp, path: (tcp, {tcp: f"{path}.not_there"}))

    def test_go_makes_its_own_system_calls(self):
        self.run_clients(["go"], lambda tcp, path: (tcp, {tcp: path}))


class Programs(Scenario):
    """Programs of Python's standard library, connected to the echo server."""

    def run_program(self, rings, words, timeout=100, **variables):
        return subprocess.run([PYTHON, *map(str, words)], env={**preloaded(rings), **variables}, text=True,
                              capture_output=True, check=False, timeout=timeout)

    def test_everything_that_works_over_tcp(self):
        port = free_ports(1)[0]
        with ring_echo() as (_, path):
            done = self.run_program({f"127.0.0.1:{port}": path}, [PROGRAM, "127.0.0.1", port])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_over_ipv6(self):
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
            port = listener.getsockname()[1]
        with ring_echo() as (_, path):
            done = self.run_program({f"[::1]:{port}": path}, [PROGRAM, "::1", port, "Blocking"])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_ipv4_address_of_an_ipv6_socket(self):
        port = free_ports(1)[0]
        with ring_echo() as (_, path):
            done = self.run_program({f"127.0.0.1:{port}": path},
                                    [PROGRAM, "::ffff:127.0.0.1", port, "Blocking"])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_pipe_is_noticed_while_poll_does_not_sleep(self):
        port = free_ports(1)[0]
        # Waits that take 10 ms make poll(2) check its descriptors for 20 ms before it sleeps.
        code = (BEGIN % port) + """
import threading
out, into = os.pipe()
poll = select.poll()
poll.register(stream, select.POLLIN)
poll.register(out, select.POLLIN)
late = []
def write():
  time.sleep(0.01)
  late.append(-time.monotonic())
  os.write(into, b'p')
for _ in range(30):
  writer = threading.Thread(target=write)
  writer.start()
  assert poll.poll(5000) == [(out, select.POLLIN)]
  now = time.monotonic()
  os.read(out, 1)
  writer.join()
  late[-1] += now
print(min(late[-20:]))
"""
        with ring_echo() as (_, path):
            done = self.run_program({f"127.0.0.1:{port}": path}, ["-c", code], HATRPC_SPIN_US="1000000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(float(done.stdout), 0.003)

    def test_long_waits_in_poll_sleep(self):
        port = free_ports(1)[0]
        code = (BEGIN % port) + """
poll = select.poll()
poll.register(stream, select.POLLIN)
for _ in range(2):  # the library learns in the first round how long waits take
  before = time.thread_time()
  for _ in range(50):
    assert poll.poll(10) == []
print(time.thread_time() - before)
"""
        with ring_echo() as (_, path):
            done = self.run_program({f"127.0.0.1:{port}": path}, ["-c", code])
        self.assertEqual(done.returncode, 0, done.stderr)
        # Polling for the longest time, a millisecond in each wait, takes 0.05 s.
        self.assertLess(float(done.stdout), 0.025)

    def test_the_server_speaks_first(self):
        port = free_ports(1)[0]
        for flags in ("0", "select.EPOLLET"):
            code = (BEGIN % port) + f"""
time.sleep(0.2)
epoll = select.epoll()
epoll.register(stream, select.EPOLLIN | {flags})
for byte in b'hello':
    assert epoll.poll(5) or {flags}, byte
    assert stream.recv(1) == bytes([byte])
assert epoll.poll(0.1) == []
"""
            with ring_echo("hello") as (_, path):
                done = self.run_program({f"127.0.0.1:{port}": path}, ["-c", code])
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_server_that_is_killed_has_ended(self):
        port = free_ports(1)[0]
        waits = {
            "blocking": "pass",
            "poll": "poll = select.poll(); poll.register(stream, select.POLLIN); poll.poll()",
            "epoll": "stream.setblocking(False); epoll = select.epoll();"
                     "epoll.register(stream, select.EPOLLIN | select.EPOLLET); epoll.poll()",
        }
        for name, wait in waits.items():
            code = (BEGIN % port) + f"print('up', flush=True); {wait}; assert stream.recv(1) == b''"
            with self.subTest(name), ring_echo() as (echo, path):
                with subprocess.Popen([PYTHON, "-c", code], stdout=subprocess.PIPE,
                                      env=preloaded({f"127.0.0.1:{port}": path})) as program:
                    self.assertEqual(program.stdout.readline(), b"up\n")
                    time.sleep(0.2)
                    echo.send_signal(signal.SIGKILL)
                    self.assertEqual(program.wait(30), 0)

    def tcp_instead(self, rings):
        """Runs a program whose ring does not work; checks that the program uses TCP instead, and returns its stderr."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            code = (BEGIN + "assert stream.recv(9) == b'tcp'; stream.close();"
                    "stream = socket.create_connection(('127.0.0.1', %d))") % (port, port)
            with subprocess.Popen([PYTHON, "-c", code], stderr=subprocess.PIPE, text=True,
                                  env=preloaded({rings.get("address", f"127.0.0.1:{port}"):
                                                 rings["path"]})) as program:
                listener.settimeout(30)
                with listener.accept()[0] as stream:
                    stream.sendall(b"tcp")
                listener.accept()[0].close()
                errors = program.stderr.read()
                self.assertEqual(program.wait(30), 0, errors)
                return errors

    def test_a_ring_that_does_not_answer(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as silent:
            silent.bind(f"{folder}/silent.ring")
            silent.listen()
            begun = time.monotonic()
            self.assertEqual(self.tcp_instead({"path": f"{folder}/silent.ring"}), "")
            self.assertLess(time.monotonic() - begun, 6)

    def test_mistakes_are_told_once(self):
        errors = self.tcp_instead({"address": "localhost", "path": "here"})
        self.assertEqual(errors.count("libhatrpc-preload: HATRPC_RINGS: 'localhost=here' is not"), 1)


if __name__ == "__main__":
    main()
