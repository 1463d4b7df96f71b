# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/rings_test.py: hostile clients and servers on rings must not disturb good clients and servers.

The hostile programs are written from docs/shm.md alone. The good programs use the package of client/python.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

from setting import PEERS, PROGRAMS, Scenario, main, manifest, start_server
from nodes import TwoNodes, wait_until
from raw_ring import (ACCEPTOR, CONSUMED, CONTROL, ENDED, HANG_S, ORIGIN, WAITS, WRITTEN, HostileServer, RawRing,
                      add_reply, blob, greeting, i32s, request, says, sealed_memory)

sys.path.insert(0, str(PEERS / "python" / "site"))

import hatrpc  # noqa: E402
import yaml  # noqa: E402
from probe import ProbeOfTomorrow  # noqa: E402
from thrift.protocol import TBinaryProtocol  # noqa: E402
from thrift.Thrift import TException  # noqa: E402
from thrift.transport import TTransport  # noqa: E402

QUICK_S = 1.0  # how long a good client's call may take while hostile clients or servers run


def ring_client(path, timeout_ms=30_000):
    transport = TTransport.TFramedTransport(hatrpc.TShmSocket(path))
    transport._TFramedTransport__trans.setTimeout(timeout_ms)
    return transport, ProbeOfTomorrow.Client(TBinaryProtocol.TBinaryProtocol(transport))


@contextlib.contextmanager
def calls_to(path, timeout_ms=30_000):
    transport, calls = ring_client(path, timeout_ms)
    transport.open()
    try:
        yield calls
    finally:
        transport.close()


class GoodClient:
    """Makes calls in a loop. Every answer must be correct, and must arrive within QUICK_S."""

    def __init__(self, path):
        self.path = path
        self.stopped = threading.Event()
        self.calls = 0
        self.slowest = 0.0
        self.error = None
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            with calls_to(self.path, 5000) as calls:
                while not self.stopped.is_set():
                    began = time.monotonic()
                    number = self.calls
                    assert calls.add(number, 1) == number + 1, "a wrong sum"
                    if number % 50 == 0:
                        assert calls.echo(bytes([number % 251]) * 150_000) == bytes([number % 251]) * 150_000
                    self.slowest = max(self.slowest, time.monotonic() - began)
                    self.calls += 1
                    time.sleep(0.001)
        except Exception as error:  # __exit__() reports it
            self.error = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.stopped.set()
        self.thread.join()
        if kind is None:
            assert self.error is None, f"after {self.calls} calls: {self.error!r}"
            assert self.calls > 10, f"only {self.calls} calls were made"
            assert self.slowest < QUICK_S, f"a call took {self.slowest:.3f} s"


def descriptors_of(node):
    return len(os.listdir(f"/proc/{node.process.pid}/fd"))


def resident_mib(node):
    status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


class Nodes:
    """Two nodes with a good server (service Probe) and an address for a hostile server (service Bad), all on rings."""

    def __init__(self, test, mode=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hatrpc-rings-"))
        self.bad_server = str(self.folder / "bad_server.ring")
        self.good = str(self.folder / "good.ring")
        self.bad = str(self.folder / "bad.ring")
        test.addCleanup(subprocess.run, ["rm", "-r", self.folder], check=True)
        self.server = start_server(f"shm:{self.folder}/server.ring")
        test.addCleanup(self.server.stop)
        own = yaml.safe_load(manifest())
        own["services"]["Bad"] = own["services"]["Probe"]
        self.two = TwoNodes(PROGRAMS, yaml.safe_dump(own),
                            {"Probe": f"shm:{self.folder}/server.ring", "Bad": f"shm:{self.bad_server}"},
                            {"Probe": f"shm:{self.good}", "Bad": f"shm:{self.bad}"},
                            fabric="tcp")  # RDMA lanes would open and close descriptors, which this test counts
        self.a, self.b = self.two.a, self.two.b
        if mode is not None:
            config = json.loads(self.a.config.read_text())
            config["endpoints"][0]["mode"] = mode
            self.a.config.write_text(json.dumps(config))
        self.context = contextlib.ExitStack()
        self.context.enter_context(self.two)
        test.addCleanup(self.context.close)

    def held(self):
        return [descriptors_of(node) for node in (self.a, self.b)]

    def warm(self):
        """Lets each worker open its links and make its one-time allocations; returns the number of descriptors."""
        for _ in range(4):
            never_reads(self.good)
        wait_until("all connections have ended", lambda: self.a.get("/status")["connections_open"] == 0 and
                   self.b.get("/status")["upstream_connections_open"] == 0)
        return self.held()

    def check_nothing_left(self, held, resident):
        """Checks that the daemons have no more descriptors, memory and buffered bytes than before the hostile clients.

        `held`: the descriptors of each daemon at that time. `resident`: the resident memory of each daemon, in MiB.
        """
        wait_until(f"the daemons hold at most {held} descriptors, as before: {self.held()}",
                   lambda: all(now <= then for now, then in zip(self.held(), held)))
        for node, before in zip((self.a, self.b), resident):
            wait_until(f"{node.name} holds nothing", lambda: node.get("/status")["buffered_bytes"] == 0)
            now = resident_mib(node)
            # The limit is high, because a sanitizer keeps freed memory for a while, and has shadow memory for each
            # page.
            assert now < before + max(16, before), f"{node.name}: resident memory: {before:.1f} MiB, then {now:.1f} MiB"
            assert node.process.poll() is None, f"{node.name} has died"


# --- Hostile clients ---

def says_nothing(path):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(path)
        time.sleep(0.1)


def greets(path, words, then=b""):
    """Sends the bytes `words` as a greeting, and `then` a moment later; returns the daemon's answer."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(HANG_S)
        sock.connect(path)
        sock.sendall(words)
        if len(words + then) < 32:
            return b""
        if then:
            time.sleep(0.05)
            sock.sendall(then)
        said, descriptors, _, _ = socket.recv_fds(sock, 64, 4)
        for one in descriptors:
            os.close(one)
        return said


def half_a_greeting(path):
    greets(path, greeting()[:17])


def pass_descriptors(sock, words, descriptors):
    """Sends bytes and descriptors, or only the bytes if the kernel refuses to pass descriptors.

    From Linux 6.16 on, hatrpcd can make the kernel refuse.
    """
    try:
        socket.send_fds(sock, [words], descriptors)
    except PermissionError:
        sock.sendall(words)


def half_a_greeting_with_its_own_end(path):
    """Passes the client's own socket to the daemon. If the daemon kept it open, the connection would never end."""
    for _ in range(20):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            pass_descriptors(sock, greeting()[:17], [sock.fileno()])


def a_greeting_in_halves(path):
    assert greets(path, greeting()[:17], greeting()[17:]) == greeting(ring_bytes=256 * 1024)


def wrong_magic(path):
    assert greets(path, greeting(magic=b"GET / HT")) == b""


def versions(path):
    assert greets(path, greeting(version=0))[12:16] == struct.pack("I", 1), "the daemon must refuse version 0"
    for theirs, used in (1, 1), (2, 2), (7, 3):
        assert greets(path, greeting(version=theirs)) == greeting(version=used, ring_bytes=256 * 1024), theirs


def many_calls_in_each_version(path):
    for version in 1, 2, 3:
        with RawRing.connect(path, version=version) as ring:
            for i in range(300):  # more than a page of requests and of replies
                ring.send(request("add", i32s(i, 1)))
                assert ring.receive(len(add_reply(0))) == add_reply(i + 1)
            assert (ring.get(ring.theirs, ORIGIN) != 0) == (version >= 3), "only version 3 rewinds"


def lies_about_the_origin(path):
    whole = request("add", i32s(20, 22))
    for origin in 1, 65537, 1 << 63, (1 << 64) - 1:
        with RawRing.connect(path) as ring:
            ring.send(whole[:9])
            ring.store(ORIGIN, origin)
            ring.send(whole[9:])
            ring.receive(1, 0.02)


def unwanted_descriptors(path):
    with socket.socket(socket.AF_UNIX) as sock, open("/dev/null", "rb") as null:
        sock.settimeout(HANG_S)
        sock.connect(path)
        pass_descriptors(sock, greeting(), [null.fileno()] * 20)
        _, descriptors, _, _ = socket.recv_fds(sock, 32, 1)
        os.close(descriptors[0])
        for _ in range(20):
            pass_descriptors(sock, b"bell", [null.fileno()] * 20)


def counters_run_ahead(path):
    with RawRing.connect(path) as ring:
        ring.store(WRITTEN, ring.ring_bytes + 1)
        ring.assert_dropped()


def counters_go_back(path):
    with RawRing.connect(path) as ring:
        ring.send(request("add", i32s(1, 2)))
        assert ring.receive(4) != b""
        ring.store(WRITTEN, 3)
        ring.assert_dropped()


def consumes_what_was_not_written(path):
    for consumed in 1 << 20, 1 << 63, (1 << 64) - 1:
        with RawRing.connect(path) as ring:
            ring.put(CONSUMED, consumed)
            ring.send(request("produce", i32s(300_000)))
            ring.assert_dropped()


def huge_frames(path):
    for size in 0x10000001, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF:
        with RawRing.connect(path) as ring:
            ring.send(struct.pack(">I", size) + request("echo")[4:])
            ring.receive(4, 0.1)  # the daemon may answer with an exception, or end the connection


def truncated_messages(path):
    whole = request("echo", blob(bytes(1000)))
    for size in 1, 3, 4, 5, 8, 11, 16, 20, 500, len(whole) - 1:
        with RawRing.connect(path) as ring:
            ring.send(whole[:size])
            ring.store(ENDED, 1)
            assert ring.receive(1, 0.02) == b"", "the daemon answered half a call"


def leaves_at_any_moment(path):
    whole = request("echo", blob(bytes(90_000)))
    for moment in range(32):
        with RawRing.connect(path) as ring:
            ring.send(whole[:len(whole) * moment // 16])
            if moment > 16:
                ring.receive((moment - 16) * 5000, 1.0)


def floods_bells(path):
    with RawRing.connect(path) as ring:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            with contextlib.suppress(BlockingIOError):
                ring.sock.send(bytes(65536), socket.MSG_DONTWAIT)
            ring.put(WAITS, 15)
        ring.send(request("add", i32s(20, 22)))
        assert ring.receive(len(add_reply(42))) == add_reply(42), "the daemon must still answer the call"


def never_reads(path):
    rings = [RawRing.connect(path) for _ in range(4)]
    for ring in rings:
        ring.send(b"".join(request("produce", i32s(1 << 20), seqid) for seqid in range(20)), 0.2)
    time.sleep(0.3)
    for ring in rings:
        ring.__exit__()


def takes_by_the_byte(path):
    with RawRing.connect(path) as ring:
        ring.send(request("produce", i32s(200_000)))
        for _ in range(300):
            assert len(ring.receive(1)) == 1


def changes_what_it_sent(path):
    with RawRing.connect(path) as ring:
        whole = request("echo", blob(bytes(50_000)))
        stop = threading.Event()

        def scribble():
            while not stop.is_set():
                ring.map[CONTROL:CONTROL + 65536] = os.urandom(65536)

        thread = threading.Thread(target=scribble)
        thread.start()
        for _ in range(20):
            ring.send(whole, 0.1)
        ring.receive(100_000, 0.1)
        stop.set()
        thread.join()


def scribbles_over_everything(path):
    with RawRing.connect(path) as ring:
        ring.send(request("add", i32s(1, 2)))
        for _ in range(200):
            ring.map[:1024] = os.urandom(1024)
            ring.bell()


def keeps_its_own_end_open(path):
    """Passes the client's own socket to the daemon together with doorbell bytes, and disconnects."""
    with RawRing.connect(path) as ring:
        pass_descriptors(ring.sock, b"bell", [ring.sock.fileno()])


CLIENT_PROGRAM = """
import sys
sys.path[:0] = sys.argv[1:3]
import hatrpc
from probe import Probe
from thrift.protocol import TBinaryProtocol
from thrift.transport import TTransport
transport = TTransport.TFramedTransport(hatrpc.TShmSocket(sys.argv[3]))
calls = Probe.Client(TBinaryProtocol.TBinaryProtocol(transport))
transport.open()
calls.ping()
print('ready', flush=True)
"""


def start_client(path, program, **environment):
    process = subprocess.Popen(
        ["/usr/bin/python3", "-c", CLIENT_PROGRAM + program, PEERS / "python" / "gen",
         PEERS / "python" / "site", path],
        stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    assert process.stdout.readline() == "ready\n"
    return process


def is_killed(path):
    program = "while True: calls.echo(bytes(1 << 20))"
    for process in [start_client(path, program) for _ in range(3)]:
        time.sleep(0.05)
        process.kill()
        process.wait()
        process.stdout.close()


HOSTILE_CLIENTS = [
    says_nothing, half_a_greeting, half_a_greeting_with_its_own_end, a_greeting_in_halves, wrong_magic, versions,
    many_calls_in_each_version, lies_about_the_origin, unwanted_descriptors, counters_run_ahead, counters_go_back, consumes_what_was_not_written,
    huge_frames, truncated_messages, leaves_at_any_moment, floods_bells, never_reads,
    takes_by_the_byte, changes_what_it_sent, scribbles_over_everything, keeps_its_own_end_open,
    is_killed]


class HostileClients(Scenario):
    def test_a_good_client_beside_them(self):
        nodes = Nodes(self)
        held = nodes.warm()
        resident = [resident_mib(node) for node in (nodes.a, nodes.b)]
        for hostile in HOSTILE_CLIENTS:
            with self.subTest(hostile=hostile.__name__):
                with GoodClient(nodes.good) as good:
                    hostile(nodes.good)
                    wait_until("some calls were made", lambda: good.calls > 10 or good.error)
                nodes.check_nothing_left(held, resident)


# --- Hostile servers ---

def opened(play):
    """Returns a hostile server's function: it answers the greeting correctly, and calls `play` at the first request."""
    def trick(connection, over):
        memory = sealed_memory()
        socket.send_fds(connection, [greeting(ring_bytes=65536)], [memory])
        with RawRing(connection, ACCEPTOR, memory) as ring:
            assert len(ring.receive(4)) == 4
            play(ring)
            if play in WAITERS:
                over.wait(HANG_S)
    return trick


def closes_at_once(connection, _):
    connection.close()


def half_greets_and_closes(connection, _):
    connection.sendall(greeting()[:20])


def never_answers(ring):
    ring.store(WAITS, 15)


def writes_out_of_range(ring):
    ring.store(WRITTEN, 1 << 40)


def consumes_out_of_range(ring):
    ring.store(CONSUMED, 1 << 40)


def answers_half(ring):
    ring.send(add_reply(3)[:9])


def aborts(ring):
    ring.send(add_reply(3)[:9])
    ring.store(ENDED, 2)


def ends(ring):
    ring.store(ENDED, 1)


def answers_nonsense(ring):
    ring.send(struct.pack(">I", 16) + b"\xff" * 16)


WAITERS = {never_answers, writes_out_of_range, consumes_out_of_range, aborts, ends, answers_nonsense}

UNREACHABLE = {
    "wrong magic": says(greeting(b"nonsense", ring_bytes=65536), ring_bytes=65536),
    "version 7": says(greeting(version=7, ring_bytes=65536), ring_bytes=65536),
    "refuses the version": says(greeting(refusal=1)),
    "has no memory": says(greeting(refusal=2)),
    "no descriptor": says(greeting(ring_bytes=65536)),
    "not sealed": says(greeting(ring_bytes=65536), seals=0),
    "sealed against growth alone": says(greeting(ring_bytes=65536), seals=fcntl.F_SEAL_GROW),
    "of another size": says(greeting(ring_bytes=65536), size=4096),
    "of no size": says(greeting(ring_bytes=65536), size=0),
    "of another size than said": says(greeting(ring_bytes=1 << 30), ring_bytes=65536),
    "read-only": says(greeting(ring_bytes=65536), seals=0xF),
    "closes at once": closes_at_once,
    "half a greeting": half_greets_and_closes,
}
CLOSED = {
    "written out of range": opened(writes_out_of_range),
    "ends": opened(ends),
    "half an answer": opened(answers_half),
    "half an answer, aborted": opened(aborts),
}


class HostileServers(Scenario):
    def call_fails(self, nodes, call, token):
        with calls_to(nodes.bad, int(1000 * HANG_S)) as calls:
            began = time.monotonic()
            with self.assertRaises(TException) as caught:
                call(calls)
            self.assertLess(time.monotonic() - began, HANG_S - 1, "the call hung")
            self.assertIn(token, str(caught.exception))

    def test_each_call_is_answered_and_good_servers_go_on(self):
        nodes = Nodes(self)
        held = nodes.warm()
        add = lambda calls: calls.add(1, 2)  # noqa: E731
        cases = [(name, trick, add, "hatrpcd: upstream_unreachable: ") for name, trick in UNREACHABLE.items()]
        cases += [(name, trick, add, "hatrpcd: upstream_closed: ") for name, trick in CLOSED.items()]
        cases += [("consumed out of range", opened(consumes_out_of_range),
                   lambda calls: calls.consume(bytes(300_000)), "hatrpcd: upstream_closed: "),
                  ("no greeting", lambda _, over: over.wait(HANG_S),
                   lambda calls: calls.hurried(1), "hatrpcd: deadline_exceeded: "),
                  ("no answer", opened(never_answers),
                   lambda calls: calls.hurried(1), "hatrpcd: deadline_exceeded: "),
                  ("nonsense", opened(answers_nonsense),
                   lambda calls: calls.hurried(1), "Bad version")]  # the daemon carries it, and the client rejects it
        resident = [resident_mib(node) for node in (nodes.a, nodes.b)]
        with GoodClient(nodes.good):
            for name, trick, call, token in cases:
                with self.subTest(server=name):
                    with HostileServer(nodes.bad_server, trick):
                        self.call_fails(nodes, call, token)
        nodes.check_nothing_left(held, resident)


# --- Good clients and servers ---

class GoodOnes(Scenario):
    def test_the_mode_of_an_endpoint(self):
        nodes = Nodes(self, mode="0600")
        self.assertEqual(stat.S_IMODE(os.stat(nodes.good).st_mode), 0o600)
        with calls_to(nodes.good) as calls:
            self.assertEqual(calls.add(1, 2), 3)

    def drain(self, choose):
        nodes = Nodes(self)
        answers, began = [], threading.Barrier(5)

        def call():
            with calls_to(nodes.good) as calls:
                calls.ping()
                began.wait()
                try:
                    answers.append(calls.slow(600))
                except Exception as error:  # the call was lost; the comparison below shows why
                    answers.append(repr(error))

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        began.wait()
        time.sleep(0.2)  # until all calls have reached the server
        status = choose(nodes).stop(signal.SIGTERM)
        for thread in threads:
            thread.join()
        self.assertEqual((answers, status), ([600] * 4, 0))

    def test_drains_the_clients_node(self):
        self.drain(lambda nodes: nodes.a)

    def test_drains_the_servers_node(self):
        self.drain(lambda nodes: nodes.b)

    def test_who_half_closes_gets_what_is_outstanding(self):
        nodes = Nodes(self)
        with RawRing.connect(nodes.good) as ring:
            calls = [request("slow", i32s(100))] + [request("add", i32s(i, i)) for i in range(50)]
            ring.send(b"".join(calls))
            ring.store(ENDED, 1)
            replies = b"".join(add_reply(2 * i) for i in range(50))
            came = ring.receive(1 << 20)
            self.assertEqual(came[-len(replies):], replies)
            self.assertNotEqual(ring.get(ring.theirs, ENDED), 2, "the daemon must not abort the stream")
            ring.assert_dropped()

    def test_a_killed_server(self):
        nodes = Nodes(self)
        with calls_to(nodes.good) as calls:
            calls.ping()
            threading.Timer(0.2, nodes.server.process.send_signal, [signal.SIGKILL]).start()
            began = time.monotonic()
            self.assert_fails(lambda: calls.slow(5000), "upstream_closed")
            self.assertLess(time.monotonic() - began, 0.2 + QUICK_S)

    def test_a_killed_daemon_wakes_its_clients(self):
        nodes = Nodes(self)
        program = ("import time\n"
                   "for ms in [100] * 8 + [5000]:\n"  # the client learns from the first eight waits how long to spin
                   "  if ms == 5000: print('waits', flush=True)\n"
                   "  try: calls.slow(ms)\n"
                   "  except TTransport.TTransportException: print('told', flush=True); break\n")
        clients = [start_client(nodes.good, program, HATRPC_SPIN_US=spin) for spin in ("0", "1000000")]
        for client in clients:
            self.assertEqual(client.stdout.readline(), "waits\n")
        time.sleep(0.05)
        nodes.a.process.kill()
        began = time.monotonic()
        for client in clients:
            self.assertEqual(client.stdout.readline(), "told\n")
            client.wait()
            client.stdout.close()
        self.assertLess(time.monotonic() - began, QUICK_S)
        nodes.a.process.wait()
        nodes.a.process = None


if __name__ == "__main__":
    main()
