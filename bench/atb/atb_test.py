# SPDX-License-Identifier: Apache-2.0
"""bench/atb/atb_test.py: runs ATB as users do: directly, through hatrpcds, and with corrupted messages.

usage: atb_test.py PROGRAMS MANIFEST    the folder of atb and hatrpcd, and hintgen's manifest of atb.thrift
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
PROGRAMS, MANIFEST = (pathlib.Path(word).resolve() for word in sys.argv[1:3])

from atb import peers  # noqa: E402
from tool import ways  # noqa: E402

WAIT_SECONDS = 60
DONE, CANNOT_MEASURE, USAGE, WRONG_ANSWER = range(4)
KEYS = ["function", "request_bytes", "answer_bytes", "calls", "seconds", "calls_per_s",
        "megabytes_per_s", "average_us", "p50_us", "p99_us", "p999_us", "max_us"]


def run(*words):
    return subprocess.run([PROGRAMS / "atb", *map(str, words)], capture_output=True, text=True,
                          timeout=WAIT_SECONDS, check=False)


def receive(source, bytes_wanted):
    parts = b""
    while len(parts) < bytes_wanted:
        part = source.recv(bytes_wanted - len(parts))
        if not part:
            raise ConnectionError
        parts += part
    return parts


class Corruptor:
    """A relay between a client and its server that changes one byte of one message."""

    def __init__(self, server_port, direction, message):
        self.server_port, self.direction, self.message = server_port, direction, message
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.acceptor.start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.server_port))
            for direction, source, to in (("request", client, server), ("answer", server, client)):
                threading.Thread(target=self.carry, args=(direction, source, to),
                                 daemon=True).start()

    def carry(self, direction, source, to):
        number = 0
        try:
            while True:
                head = receive(source, 4)
                frame = bytearray(receive(source, int.from_bytes(head, "big")))
                if direction == self.direction and number == self.message:
                    frame[-10] ^= 0x20  # a byte of the payload, which is the last field
                number += 1
                to.sendall(head + frame)
        except OSError:
            to.close()

    def __enter__(self):
        return self.port

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept(), which close() does not
        self.acceptor.join()
        self.listener.close()


class Atb(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hatrpc-atb-")
        self.addCleanup(folder.cleanup)
        self.site = self.enterContext(ways.Site(types.SimpleNamespace(
            folder=pathlib.Path(folder.name), programs=PROGRAMS)))

    def server(self, local="tcp"):
        return peers.start_server(self.site, local)

    def measured(self, *words):
        done = run(*words, "--json")
        self.assertEqual(done.returncode, DONE, done.stderr)
        found = json.loads(done.stdout)
        for line in found["results"]:
            self.assertEqual(list(line), KEYS)
            self.assertGreater(line["calls_per_s"], 0)
            self.assertGreater(line["average_us"], 0)
            self.assertLessEqual(line["p50_us"], line["p99_us"])
            self.assertLessEqual(line["p99_us"], line["p999_us"])
            self.assertLessEqual(line["p999_us"], line["max_us"])
        return found


class Measures(Atb):
    def test_over_every_kind_of_socket(self):
        for local in ways.LOCALS:
            with self.subTest(local):
                found = self.measured("throughput", self.server(local).address, "--size", 2000,
                                      "--processes", 2, "--threads", 3, "--iterations", 20,
                                      "--seconds", 0, "--warm-up", 0)
                self.assertEqual((found["processes"], found["threads"]), (2, 3))
                [load] = found["loads"]
                self.assertEqual((load["fewest"], load["most"], load["cut_off"]), (20, 20, 0))
                [line] = found["results"]
                self.assertEqual((line["function"], line["calls"]), ("throughput", 120))

    def test_latency_measures_each_payload(self):
        found = self.measured("latency", self.server().address, "--max", "1KiB", "--factor", 4,
                              "--iterations", 10, "--warm-up", 0)
        self.assertEqual([(line["function"], line["request_bytes"], line["answer_bytes"],
                           line["calls"]) for line in found["results"]],
                         [("latency", size, size, 10) for size in (4, 16, 64, 256, 1024)])

    def test_mix_calls_both_functions_each_with_its_sizes(self):
        address = self.server().address
        sizes = ["--latency-request-size", 1, "--latency-answer-size", 2,
                 "--throughput-request-size", 3000, "--throughput-answer-size", 0]
        found = self.measured("mix", address, *sizes, "--threads", 2, "--iterations", 200,
                              "--latency-percent", 25, "--seconds", 0, "--warm-up", 0)
        latency, throughput = found["results"]
        self.assertEqual((latency["request_bytes"], latency["answer_bytes"]), (1, 2))
        self.assertEqual((throughput["request_bytes"], throughput["answer_bytes"]), (3000, 0))
        self.assertEqual(latency["calls"] + throughput["calls"], 400)
        self.assertTrue(40 < latency["calls"] < 160, latency["calls"])  # 100 are expected; the choice is random
        [line] = self.measured("mix", address, "--latency-percent", 100, "--iterations", 5,
                               "--warm-up", 0)["results"]
        self.assertEqual((line["function"], line["calls"]), ("latency", 5))

    def test_time_bounds_a_measurement_too(self):
        address = self.server().address
        for seconds in (0.2, 2, 20):  # on a busy host, a short measurement can have no answer
            done = run("throughput", address, "--seconds", seconds, "--warm-up", 0.1, "--json")
            if done.returncode == DONE:
                break
            self.assertIn("no call ended", done.stderr)
        found = json.loads(done.stdout)
        [line], [load] = found["results"], found["loads"]
        self.assertAlmostEqual(line["seconds"], seconds)
        self.assertEqual((load["fewest"], load["most"]), 2 * (line["calls"],))
        self.assertGreater(line["calls"], 0)
        self.assertLessEqual(load["cut_off"], 1)
        self.assertGreater(load["mean_us"], 0)
        self.assertGreater(load["think_us"], 0)

    def test_more_bytes_on_a_connection_than_libthrift_has_for_a_message(self):
        [line] = self.measured("throughput", self.server().address, "--size", "8MiB",
                               "--iterations", 15, "--seconds", 0, "--warm-up", 0)["results"]
        self.assertEqual(line["calls"], 15)

    def test_a_table_for_people(self):
        done = run("mix", self.server().address, "--threads", 2, "--iterations", 3, "--warm-up", 0)
        self.assertEqual(done.returncode, DONE, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines],
                         ["FUNCTION", "latency", "throughput", "2"])
        self.assertEqual(lines[-1], "2 clients made 3 to 3 calls each; 0 calls had not ended when the time was over")


class ThroughHatrpcds(Atb):
    def test_every_call_passes_through_them_and_is_counted(self):
        manifest = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
        for local in ("tcp", "shm"):
            with self.subTest(local):
                way = ways.hatrpcd_pair(self.site, self.server(local), "Atb",
                                        {"services": manifest["services"]}, local, fabric="loop")
                clients, calls = 4, 0
                for words in (["latency", "--min", 128, "--max", "128KiB", "--factor", 1024],
                              ["throughput", "--size", "128KiB", "--threads", clients],
                              ["mix", "--threads", clients]):
                    found = self.measured(words[0], way.address, *words[1:], "--iterations", 30,
                                          "--seconds", 0, "--warm-up", 0)
                    made = sum(line["calls"] for line in found["results"])
                    # The daemons have also counted one call that each client makes before its measurement.
                    calls += made + (len(found["results"]) if words[0] == "latency" else clients)
                    self.assertEqual(made, 30 * (2 if words[0] == "latency" else clients))
                counts = +way.calls_by_protocol()
                self.assertEqual(counts.total(), calls)
                self.assertGreater(counts["direct_write_imm"], 0, counts)
                # The plan for large throughput calls is rfp if the 16 clients have fewer than 16 cores. A request
                # that is too large for a slot is carried by the rendezvous write_rndv.
                self.assertLessEqual(set(counts), {"direct_write_imm", "rfp", "write_rndv", "tcp"})

    def test_hints_can_change_between_measurements(self):
        way = ways.hatrpcd_pair(self.site, self.server(), "Atb",
                                peers.manifest_of(peers.forcing("eager"), "latency", 512, 1),
                                fabric="loop")
        for protocol in ("eager", "rfp"):
            way.change_manifest(peers.manifest_of(peers.forcing(protocol), "latency", 512, 1))
            for _ in range(WAIT_SECONDS):  # until the protocol's lane is up
                before = way.calls_by_protocol()
                self.measured("throughput", way.address, "--iterations", 50, "--seconds", 0,
                              "--warm-up", 0)
                made = way.calls_by_protocol() - before
                self.assertLessEqual(set(made), {protocol, "tcp"})
                if made[protocol]:
                    break
            self.assertGreater(made[protocol], 0, made)


class Fails(Atb):
    def complains(self, status, said, *words):
        done = run(*words)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertRegex(done.stderr, said)

    def test_where_a_byte_of_a_request_or_an_answer_has_changed(self):
        port = int(self.server().address)
        for direction in ("request", "answer"):
            for message in (0, 9):
                with self.subTest(direction, message=message), \
                        Corruptor(port, direction, message) as between:
                    self.complains(WRONG_ANSWER, "a wrong answer: its checksum does not match",
                                   "throughput", between, "--size", "128KiB", "--threads", 2,
                                   "--processes", 2, "--iterations", 20, "--warm-up", 0)
        with Corruptor(port, "neither", 0) as between:
            self.assertEqual(run("throughput", between, "--iterations", 20).returncode, DONE)

    def test_where_nobody_listens(self):
        with tempfile.TemporaryDirectory() as folder:
            nowhere = f"{folder}/none.sock"
            self.complains(CANNOT_MEASURE, f"cannot connect to unix:{nowhere}", "latency", nowhere)

    def test_where_nobody_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.complains(CANNOT_MEASURE, "a call failed: .*timed out",
                           "mix", silent.getsockname()[1], "--timeout", 1, "--threads", 2)

    def test_where_the_server_has_no_place_for_another_client(self):
        address = self.site.address("tcp")
        server = self.site.start([PROGRAMS / "atb", "server", address, "--clients", 1],
                                 self.site.file("server.log"))
        ways.wait_for(address, server)
        self.complains(CANNOT_MEASURE, "timed out", "throughput", address, "--threads", 2,
                       "--timeout", 1)
        self.assertEqual(run("throughput", address, "--iterations", 5).returncode, DONE)

    def test_where_the_server_ends_in_the_middle(self):
        server = self.server()
        client = subprocess.Popen([PROGRAMS / "atb", "throughput", server.address, "--threads", "2",
                                   "--seconds", "600"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        try:
            end = time.monotonic() + WAIT_SECONDS
            while ways.processes.cpu_seconds(server.process) < 0.1:  # until the server has begun to answer
                self.assertIsNone(client.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)
            server.process.kill()
            out, errors = client.communicate(timeout=WAIT_SECONDS)
        finally:
            client.kill()
            client.wait()
        self.assertEqual((client.returncode, out), (CANNOT_MEASURE, ""))
        self.assertIn("a call failed", errors)

    def test_where_an_option_is_wrong(self):
        self.complains(USAGE, "'--sise' is not an option of atb throughput",
                       "throughput", 1, "--sise", 4)

    def test_a_server_where_another_one_is(self):
        port = self.server().address
        self.complains(CANNOT_MEASURE, f"cannot serve at tcp:127.0.0.1:{port}", "server", port)


if __name__ == "__main__":
    os.environ.setdefault("HATRPC_SPIN_US", "50")  # a short spin, because other tests need the cores too
    unittest.main(argv=sys.argv[:1])
