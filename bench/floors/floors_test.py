# SPDX-License-Identifier: Apache-2.0
"""bench/floors/floors_test.py: runs the floors with few and many bytes, with wrong arguments, and kills them.

It also runs the experiment echo with the floors alone.

usage: floors_test.py PROGRAMS    the folder of ring_floor, tcp_floor and echo_server
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))

from tool import experiment, options, results  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
WAIT_SECONDS = 60
# The last arguments of each program.
CHOICES = {"ring_floor": (("20", "20"), ("0", "0")),
           "tcp_floor": (("-1", "tcp"), ("0", "tcp"), ("20", "tcp"), ("0", "unix"), ("20", "unix"))}
EACH = [(program, *choice) for program, choices in CHOICES.items() for choice in choices]
KEYS = {"calls_per_s", "p50", "p99", "p999", "cpu_us", "mean_us", "think_us", "fewest", "most", "cut_off",
        "sidecar_cpu_us", "server_cpu_us"}


def run(program, *words):
    return subprocess.run([PROGRAMS / program, *map(str, words)], capture_output=True, text=True,
                          timeout=WAIT_SECONDS, check=False)


def children_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()


def is_running(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


class Floors(unittest.TestCase):
    def measured(self, program, clients, size, *choice):
        """Returns the output of a run in which every client got a call."""
        for seconds in (0.2, 2, 10):  # on a busy machine, a short measurement can have no answer for a client
            done = run(program, clients, size, seconds, *choice)
            if done.returncode == 0 and json.loads(done.stdout)["fewest"] > 0:
                break
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_every_client_makes_calls(self):
        for program, *choice in EACH:
            for clients in (1, 5):
                for size in (64, 131072):
                    with self.subTest(program, choice=choice, clients=clients, bytes=size):
                        found = self.measured(program, clients, size, *choice)
                        self.assertEqual(set(found), KEYS)
                        self.assertGreater(found["fewest"], 0)
                        self.assertLessEqual(found["fewest"], found["most"])
                        for key in ("calls_per_s", "p50", "cpu_us", "sidecar_cpu_us", "server_cpu_us"):
                            self.assertGreater(found[key], 0)

    def test_sizes_that_fill_no_cache_line_and_sizes_that_fill_sockets(self):
        for program, *choice in EACH:
            for clients, size in ((2, 1), (3, 65), (2, 1048576)):
                with self.subTest(program, choice=choice, clients=clients, bytes=size):
                    self.assertGreater(self.measured(program, clients, size, *choice)["fewest"], 0)

    def test_more_clients_than_a_word_of_dirty_bits_has(self):
        for program in CHOICES:
            with self.subTest(program):
                found = self.measured(program, 130, 64, *CHOICES[program][-1])
                self.assertGreater(found["fewest"], 0)

    def test_wrong_arguments(self):
        for program, *choice in EACH:
            for words in ((), (1, 64, 0.1), (0, 64, 0.1, *choice), (1, 0, 0.1, *choice),
                          (1, 64, 0, *choice), (1, 64, 0.1, *choice, 1), (1, 64, 0.1, "x", choice[1]),
                          (1, 64, 0.1, choice[0], "x")):
                with self.subTest(program, words=words):
                    done = run(program, *words)
                    self.assertEqual((done.returncode, done.stdout), (2, ""))
                    self.assertIn(f"usage: {program} CLIENTS BYTES SECONDS ", done.stderr)

    def test_help(self):
        for program in CHOICES:
            done = run(program, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith(f"usage: {program} CLIENTS"), done.stdout)

    def started(self, program, choice):
        """Returns a floor that would measure for long, and its children."""
        floor = subprocess.Popen([PROGRAMS / program, "2", "64", "600", *choice],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(floor.stderr.close)
        self.addCleanup(floor.wait)
        self.addCleanup(floor.kill)
        end = time.monotonic() + WAIT_SECONDS
        while len(children_of(floor.pid)) < 3:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        return floor, children_of(floor.pid)

    def wait_for_the_end_of(self, pids):
        end = time.monotonic() + WAIT_SECONDS
        while any(map(is_running, pids)):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_no_process_survives_a_killed_floor(self):
        for program, choices in CHOICES.items():
            with self.subTest(program):
                floor, children = self.started(program, choices[0])
                floor.kill()
                floor.wait()
                self.wait_for_the_end_of(children)

    def test_a_floor_ends_if_one_of_its_processes_does(self):
        for program, choices in CHOICES.items():
            for i in range(3):
                with self.subTest(program, child=i):
                    floor, children = self.started(program, choices[0])
                    os.kill(int(children[i]), signal.SIGKILL)
                    _, errors = floor.communicate(timeout=WAIT_SECONDS)
                    self.assertEqual(floor.returncode, 1)
                    self.assertIn("a child process of the floor has ended", errors)
                    self.wait_for_the_end_of(children)


class Echo(unittest.TestCase):
    """The floors as set-ups of the experiment echo."""

    def test_they_are_the_last_set_ups_unless_the_cores_are_split(self):
        one = experiment.load("echo")
        for words, floors in (([], ["floor"]), (["--local", "unix"], ["floor"]),
                              (["--local", "shm"], ["floor", "floor, nobody polls"]),
                              (["--split"], []), (["--local", "shm", "--split"], [])):
            with self.subTest(words=words):
                peers = options.settings_of(one, words).peers
                self.assertEqual(peers[0], "direct")
                self.assertEqual([peer for peer in peers if peer.startswith("floor")], floors)
                self.assertEqual(peers[len(peers) - len(floors):], floors)

    def run_of(self, folder, local, floors):
        words = [word for floor in floors for word in ("--peer", floor)]
        return subprocess.run(
            [sys.executable, "-m", "tool", "run", "echo", "--quick", "--local", local, *words,
             "--bin", PROGRAMS, "--out", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=WAIT_SECONDS, check=False, env={**os.environ, "PYTHONPATH": str(BENCH)})

    def test_a_quick_run_measures_them(self):
        for local, floors, name in (("tcp", ["floor"], "echo-quick"),
                                    ("shm", ["floor", "floor, nobody polls"], "echo-local-shm-quick")):
            with self.subTest(local), tempfile.TemporaryDirectory(prefix="hatrpc-floors-") as folder:
                done = self.run_of(folder, local, floors)
                self.assertEqual(done.returncode, 0, done.stdout)
                rows = results.read(pathlib.Path(folder) / name / results.FILE).rows
                self.assertLessEqual(set(floors), {row["peer"] for row in rows})
                for row in rows:
                    for key in ("calls_per_s", "client_cpu_us", "sidecar_cpu_us", "server_cpu_us"):
                        self.assertGreater(row["values"][key], 0)


if __name__ == "__main__":
    if PROGRAMS is None:
        sys.exit(__doc__)
    del sys.argv[1]
    unittest.main()
