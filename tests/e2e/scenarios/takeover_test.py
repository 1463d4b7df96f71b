# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/takeover_test.py: a new hatrpcd takes over from the running hatrpcd, and no call fails."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

from setting import PEERS, PROGRAMS, Client, Peers, Scenario, main, probe_nodes
from nodes import ask, wait_until

LARGE = bytes(i % 251 for i in range(200_000))
PATIENCE_S = 30


class Caller(threading.Thread):
    """Calls in a loop over one connection until `stopped` is set; stops at the first error and keeps it."""

    def __init__(self, nodes, call):
        super().__init__()
        self.nodes = nodes
        self.call = call
        self.stopped = threading.Event()
        self.calls = 0
        self.error = None
        self.start()

    def run(self):
        try:
            with Client(self.nodes, timeout_ms=PATIENCE_S * 1000) as calls:
                while not self.stopped.is_set():
                    self.call(calls, self.calls)
                    self.calls += 1
        except Exception as error:  # load() checks that there is none
            self.error = error


def add(calls, number):
    assert calls.add(number, 1) == number + 1, "the answer is not this call's"


def mixed(calls, number):
    """Makes small calls, calls that are large in both directions, slow calls and oneway calls."""
    add(calls, number)
    assert calls.echo(LARGE) == LARGE, "the bytes were changed on the way"
    assert calls.slow(30) == 30
    calls.note(f"caller {number}")
    assert calls.divide(7, 2) == 3


def seldom(calls, number):
    """Makes one call and pauses, so that a takeover can happen between two calls."""
    add(calls, number)
    time.sleep(0.2)


@contextlib.contextmanager
def load(test, nodes, calls=(add, add, add, mixed, mixed, seldom, seldom)):
    """Runs one caller for each element of `calls`. At the end, every caller must still make calls without an error."""
    callers = [Caller(nodes, call) for call in calls]
    try:
        wait_until("every caller has made a call", lambda: all(one.calls or one.error for one in callers), PATIENCE_S)
        yield callers
        before = [one.calls for one in callers]
        wait_until("every caller has made another call", lambda: all(
            one.error or one.calls > count for one, count in zip(callers, before)), PATIENCE_S)
    finally:
        for one in callers:
            one.stopped.set()
        for one in callers:
            one.join()
    test.assertEqual([one.error for one in callers], [None] * len(callers))


def metric(node, name):
    text = ask(node.admin, "GET", "/metrics")[1]
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + " "))


def ended(process):
    try:
        return process.wait(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return "does not end"


class Successor:
    """A fake new hatrpcd: it speaks the takeover protocol to the running hatrpcd, and the test controls each step."""

    HELLO, REFUSE, LISTENERS, LAST_LISTENERS, READY, GO, SERVING, CONNECTION, SERVER_CONNECTION = range(1, 10)

    def __init__(self, node):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(f"{node.admin}.takeover")
        self.say(self.HELLO, node.name)
        self.addresses = self.hear(self.LAST_LISTENERS)

    def say(self, kind, text=""):
        body = text.encode()
        self.socket.send(struct.pack("=4sHHII", b"hatT", 3, kind, len(body), 0) + body)

    def hear(self, wanted):
        message, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 18, 128)
        for one in descriptors:
            os.close(one)
        _, _, kind, length, _ = struct.unpack("=4sHHII", message[:16])
        text = message[16:16 + length].decode()
        assert kind == wanted, f"kind {kind}: {text}"
        return text

    def close(self):
        self.socket.close()


class Takeover(Scenario):
    def take_over_again_and_again(self, nodes, rounds=2):
        """Replaces both daemons, in turn, under load."""
        with load(self, nodes) as callers:
            for _ in range(rounds):
                for node in (nodes.a, nodes.b):
                    self.assertEqual(ended(node.take_over()), 0, f"{node.name}: {node.log()[-3000:]}")
            wait_until("the new daemon has all connections", lambda: metric(
                nodes.a, "hatrpc_connections_taken_over_total") == len(callers), PATIENCE_S)
            self.assertEqual(nodes.a.get("/status")["connections_open"], len(callers))

    def test_over_tcp(self):
        with probe_nodes() as nodes:
            self.take_over_again_and_again(nodes)

    def test_without_rdma_lanes(self):
        with probe_nodes(fabric="tcp") as nodes:
            self.take_over_again_and_again(nodes)

    def test_over_rings(self):
        with tempfile.TemporaryDirectory(prefix="hatrpc-takeover-") as folder:
            ring = f"{folder}/probe.ring"
            with probe_nodes(endpoints={"Probe": f"shm:{ring}"}) as nodes:
                self.take_over_again_and_again(nodes)
                with Client(nodes) as calls:
                    add(calls, 1)
            self.assertFalse(os.path.exists(ring), "the last daemon must remove the path of the ring")

    def test_unmodified_cpp_clients_on_a_unix_socket(self):
        """Runs all cases of the C++ test client, also those with pipelined calls, while daemons take over."""
        with tempfile.TemporaryDirectory(prefix="hatrpc-takeover-") as folder:
            path = f"{folder}/probe.sock"
            with probe_nodes(endpoints={"Probe": f"unix:{path}"}) as nodes:
                command, environment = Peers(PEERS).command("cpp", "client")
                client = subprocess.Popen(
                    [*command, *["--connect", f"unix:{path}", "--transport", "framed", "--protocol", "binary",
                                 "--large", str(1 << 20)] * 3],
                    env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
                taken = 0
                while client.poll() is None and taken < 20:
                    node = (nodes.a, nodes.b)[taken % 2]
                    self.assertEqual(ended(node.take_over()), 0)
                    taken += 1
                output = client.communicate(timeout=PATIENCE_S)[0]
                self.assertEqual((client.returncode, "FAIL" in output), (0, False), output)
                self.assertIn("ok pipelined", output)
                self.assertGreater(taken, 0)

    def test_a_call_in_flight_is_finished_by_the_old_one(self):
        with probe_nodes() as nodes, load(self, nodes, [add, seldom]):
            for node in (nodes.a, nodes.b):
                answers = []

                def call():
                    with Client(nodes) as calls:
                        began = time.monotonic()
                        answers.append(calls.slow(2500))
                        answers.append(time.monotonic() - began < 20)
                        add(calls, 1)

                thread = threading.Thread(target=call)
                thread.start()
                self.wait_for_call(nodes, "slow")
                old = node.take_over()
                with Client(nodes) as calls:  # new calls must succeed while the old daemon finishes its call
                    while old.poll() is None and not answers:
                        add(calls, 2)
                thread.join()
                self.assertEqual(answers, [2500, True])
                self.assertEqual(ended(old), 0)

    @staticmethod
    def wait_for_call(nodes, method):
        def in_flight():
            return any(one["in_flight"] for one in nodes.b.get("/functions")
                       if one["method"] == method and one["side"] == "server")
        wait_until(f"{method} is at the server", in_flight, PATIENCE_S)

    def test_whoever_gives_up_leaves_the_old_one_as_it_was(self):
        with probe_nodes() as nodes, load(self, nodes):
            pid = nodes.a.process.pid
            Successor(nodes.a).close()  # disconnects after it has received the listening sockets
            late = Successor(nodes.a)
            late.say(Successor.READY, late.addresses)
            late.hear(Successor.GO)  # the old daemon no longer accepts connections now
            late.close()
            with Client(nodes) as calls:
                add(calls, 1)
            good = nodes.a.config.read_text(encoding="utf-8")
            for change, status in (({"fabrics": "tcp"}, 78),
                                   ({"link": {"insecure": True, "listen": f"tcp:127.0.0.1:{nodes.link}"}}, 69)):
                nodes.a.config.write_text(json.dumps(json.loads(good) | change), encoding="utf-8")
                done = subprocess.run([PROGRAMS / "hatrpcd", "--config", nodes.a.config, "--takeover"],
                                      capture_output=True, text=True, timeout=PATIENCE_S, check=False)
                self.assertEqual(done.returncode, status, done.stderr)
            nodes.a.config.write_text(good, encoding="utf-8")
            self.assertEqual(nodes.a.get("/status")["pid"], pid)
            self.assertIsNone(nodes.a.process.poll())
            self.assertEqual(ended(nodes.a.take_over()), 0)

    def test_told_to_leave_while_it_gives_way_it_leaves_after_that(self):
        for says_serving in (True, False):
            with self.subTest(says_serving=says_serving), probe_nodes() as nodes:
                new = Successor(nodes.a)
                new.say(Successor.READY, new.addresses)
                new.hear(Successor.GO)
                nodes.a.process.terminate()
                wait_until("the daemon has logged the signal", lambda: "received an order to stop" in nodes.a.log(),
                           PATIENCE_S)
                if says_serving:
                    new.say(Successor.SERVING)
                else:
                    new.close()
                self.assertEqual(ended(nodes.a.process), 0)
                new.close()
                self.assertEqual(nodes.a.log().count("draining: "), 1)

    def test_a_new_one_that_is_killed_costs_no_call_that_the_old_one_has(self):
        with probe_nodes() as nodes:
            answers = []

            def call():
                with Client(nodes) as calls:
                    answers.append(calls.slow(2000))

            thread = threading.Thread(target=call)
            thread.start()
            self.wait_for_call(nodes, "slow")
            old = nodes.a.take_over()
            nodes.a.stop(signal.SIGKILL)
            thread.join()
            self.assertEqual(answers, [2000])
            self.assertEqual(ended(old), 0)
            nodes.a.start()  # the new daemon must be able to bind the addresses of the killed daemon
            with Client(nodes) as calls:
                add(calls, 1)

    def test_an_old_one_that_is_killed_costs_only_the_calls_that_it_had(self):
        with probe_nodes() as nodes, load(self, nodes, [seldom] * 4):
            failed = []

            def call():
                try:
                    with Client(nodes) as calls:
                        calls.slow(60_000)
                except Exception as error:  # the call must fail, because its daemon is killed
                    failed.append(error)

            thread = threading.Thread(target=call)
            thread.start()
            self.wait_for_call(nodes, "slow")
            old = nodes.a.take_over()
            wait_until("connections have moved", lambda: metric(
                nodes.a, "hatrpc_connections_taken_over_total") == 4, PATIENCE_S)
            old.kill()
            old.wait()
            thread.join()
            self.assertEqual(len(failed), 1)
            with Client(nodes) as calls:
                add(calls, 1)

    def test_nobody_to_take_over_from(self):
        with probe_nodes() as nodes:
            nodes.a.stop()
            nodes.a.take_over()
            with Client(nodes) as calls:
                add(calls, 1)

    def test_on_a_signal_it_starts_its_successor_itself(self):
        with probe_nodes() as nodes, load(self, nodes, [add, mixed]):
            old = nodes.a.process
            old.send_signal(signal.SIGUSR2)
            wait_until("another process serves", lambda: nodes.a.get("/status")["pid"] != old.pid, PATIENCE_S)
            pid = nodes.a.get("/status")["pid"]
            self.addCleanup(self.end, pid)
            self.assertEqual(ended(old), 0)
            nodes.a.process = None
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            self.assertEqual(words.count(b"--takeover"), 1)

    @staticmethod
    def end(pid):
        """Ends the successor and reaps it, because the successor is a child of this test's process."""
        os.kill(pid, signal.SIGTERM)
        wait_until("the successor has ended", lambda: os.waitpid(pid, os.WNOHANG) == (pid, 0), PATIENCE_S)


if __name__ == "__main__":
    main()
