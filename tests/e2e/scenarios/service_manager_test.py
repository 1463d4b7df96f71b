# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/service_manager_test.py: runs hatrpcd under a fake systemd, which the test controls.

The tests in tests/package run hatrpcd under the real systemd.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import time

from setting import PROGRAMS, Client, Scenario, main, probe_nodes
from nodes import ask

# A command that runs the daemon with a socket as descriptor 3, and with the daemon's process id in LISTEN_PID.
PASSES_SOCKET = ["/bin/bash", "-c", 'export LISTEN_PID=$$; exec "$@" 3<&"$PASSED_FD"', "bash"]


class FakeSystemd:
    """Binds the socket that NOTIFY_SOCKET names, and receives the daemon's messages. A context manager."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hatrpc-notify-")
        path = pathlib.Path(self.folder.name) / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.environment = {**os.environ, "NOTIFY_SOCKET": str(path)}
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.folder.cleanup()

    def next(self, seconds=30):
        """Returns the next message, as a dictionary."""
        self.socket.settimeout(seconds)
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())

    def heard(self):
        """Returns all messages that have arrived and were not read yet."""
        messages = []
        with contextlib.suppress(BlockingIOError):
            while True:
                messages.append(self.next(seconds=0))
        return messages


def connects(address):
    host, _, port = address.removeprefix("tcp:").rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


@contextlib.contextmanager
def thread_stopped(pid, name):
    """Stops the thread `name` of a process with ptrace(), as a debugger does, while the other threads continue."""
    seize, interrupt, detach = 0x4206, 0x4207, 17  # PTRACE_…
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    threads = pathlib.Path(f"/proc/{pid}/task").iterdir()
    thread = next(int(one.name) for one in threads if (one / "comm").read_text() == f"{name}\n")
    for request in seize, interrupt:
        if ptrace(request, thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")
    os.waitpid(thread, 0x40000000)  # __WALL: waits until the thread has stopped
    try:
        yield
    finally:
        ptrace(detach, thread, None, None)


def reload(node):
    return subprocess.run([PROGRAMS / "hatctl", "--socket", node.admin, "reload"], text=True,
                          capture_output=True, timeout=60, check=False)


class ServiceManager(Scenario):
    @contextlib.contextmanager
    def nodes_under_systemd(self, **environment):
        """Starts two nodes, and restarts host-a under the fake systemd; yields the nodes and the fake systemd."""
        with probe_nodes() as nodes, FakeSystemd() as systemd:
            self.assertEqual(nodes.a.stop(), 0)
            nodes.a.start(env=systemd.environment | environment)
            yield nodes, systemd

    def test_ready_is_told_when_calls_are_taken(self):
        with probe_nodes() as nodes, FakeSystemd() as systemd:
            self.assertEqual(nodes.a.stop(), 0)
            starting = threading.Thread(target=nodes.a.start, kwargs={"env": systemd.environment})
            starting.start()
            try:
                first = systemd.next()
                self.assertTrue(connects(nodes.endpoints["Probe"]), "READY was sent before the daemon listened")
                self.assertEqual(ask(nodes.a.admin, "GET", "/healthz")[0], 200)
            finally:
                starting.join()
            self.assertEqual(first["READY"], "1")
            self.assertIn("host-a", first["STATUS"])
            with Client(nodes) as calls:
                self.assertEqual(calls.add(1, 2), 3)
            nodes.a.stop()
            self.assertEqual([list(message)[0] for message in systemd.heard()], ["STOPPING"])

    def test_a_reload_is_told_and_a_refused_one_fails_and_says_why(self):
        with self.nodes_under_systemd() as (nodes, systemd):
            self.assertEqual(systemd.next()["READY"], "1")
            good = nodes.manifest.read_text()

            done = reload(nodes.a)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            began, ended = systemd.next(), systemd.next()
            self.assertEqual(began["RELOADING"], "1")
            self.assertGreater(int(began["MONOTONIC_USEC"]), 0)
            self.assertEqual(ended["READY"], "1")
            self.assertIn("generation 2", ended["STATUS"])

            nodes.manifest.write_text(good.replace("perf_goal: latency", "perf_goal: lightning", 1))
            done = reload(nodes.a)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"probe\.yaml:\d+:\d+: error: perf_goal: 'lightning'")
            # If the daemon's file watcher has also tried to reload the file, there are two pairs of messages.
            statuses = [message["STATUS"] for message in systemd.heard() if "READY" in message]
            self.assertTrue(statuses, "without READY, `systemctl reload` waits until its timeout")
            for status in statuses:
                self.assertRegex(status, r"generation 2 stay in use.*refused.*probe\.yaml:\d+:\d+: error")

            nodes.manifest.write_text(good)
            self.assertEqual(reload(nodes.a).returncode, 0)
            self.assertNotIn("refused", systemd.heard()[-1]["STATUS"])

    def test_the_watchdog_is_fed_while_nothing_happens(self):
        with self.nodes_under_systemd(WATCHDOG_USEC="400000") as (_, systemd):
            self.assertEqual(systemd.next()["READY"], "1")
            for _ in range(5):
                self.assertEqual(systemd.next(), {"WATCHDOG": "1"})

    def test_the_watchdog_is_not_fed_while_one_of_two_workers_hangs(self):
        with probe_nodes() as nodes, FakeSystemd() as systemd:
            self.assertEqual(nodes.a.stop(), 0)
            config = json.loads(nodes.a.config.read_text())
            nodes.a.config.write_text(json.dumps(config | {"workers": 2}))
            nodes.a.start(env=systemd.environment | {"WATCHDOG_USEC": "400000"})
            with thread_stopped(nodes.a.process.pid, "worker-1"):
                time.sleep(0.5)
                systemd.heard()
                time.sleep(1.5)  # the watchdog's time is 0.4 s
                # At most one message may arrive: the message that was due when the thread was stopped.
                self.assertLessEqual(len(systemd.heard()), 1)
            self.assertEqual(systemd.next(), {"WATCHDOG": "1"})

    def test_a_listener_of_systemd_outlives_a_restart(self):
        with probe_nodes() as nodes:
            self.assertEqual(nodes.a.stop(), 0)
            host, _, port = nodes.endpoints["Probe"].removeprefix("tcp:").rpartition(":")
            with socket.socket() as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((host, int(port)))
                listener.listen()
                passed = {"before": PASSES_SOCKET, "pass_fds": [listener.fileno()],
                          "env": {**os.environ, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "probe",
                                  "PASSED_FD": str(listener.fileno())}}
                nodes.a.start(**passed)
                with Client(nodes) as calls:
                    self.assertEqual(calls.add(1, 2), 3)
                self.assertEqual(nodes.a.stop(), 0)

                # A client that connects while no daemon runs must wait, and the next daemon must serve it.
                answers = []

                def call():
                    with Client(nodes) as calls:
                        answers.append(calls.add(3, 4))

                waiting = threading.Thread(target=call)
                waiting.start()
                time.sleep(0.2)  # the client usually connects before the next daemon starts; either order must work
                nodes.a.start(**passed)
                waiting.join()
                self.assertEqual(answers, [7])

    def test_a_socket_that_no_address_names_is_closed_with_a_warning(self):
        with probe_nodes() as nodes, socket.socket() as listener:
            self.assertEqual(nodes.a.stop(), 0)
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            nodes.a.start(before=PASSES_SOCKET, pass_fds=[listener.fileno()],
                          env={**os.environ, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "old.socket",
                               "PASSED_FD": str(listener.fileno())})
            port = listener.getsockname()[1]
            self.assertRegex(nodes.a.log(), rf"tcp:127\.0\.0\.1:{port} \(old\.socket\): was handed over")
            with Client(nodes) as calls:
                self.assertEqual(calls.add(1, 2), 3)


if __name__ == "__main__":
    main()
