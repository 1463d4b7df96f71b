#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench/engine/model_calls_test.py: tests `engine_bench --fabric model`.

usage: model_calls_test.py PROGRAMS
"""

import json
import pathlib
import subprocess
import sys
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))
from engine.engine_bench import PROTOCOLS  # noqa: E402


def compute(*words, kind="calls"):
    command = [PROGRAMS / "engine_bench", kind, "--fabric", "model", "--seconds", "0.002", *map(str, words)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)


class ModelCalls(unittest.TestCase):
    def test_every_protocol_obeys_littles_law_on_all_hosts(self):
        for hardware in ("broadwell-connectx4", "skylake-connectx5"):
            for protocol in PROTOCOLS:
                for polling in ("busy", "event"):
                    for size in (64, 4096, 131072):
                        with self.subTest(hardware=hardware, protocol=protocol, polling=polling, size=size):
                            found = compute("--hardware", hardware, "--protocol", protocol, "--polling", polling,
                                            "--size", size, "--clients", 3)
                            self.assertGreaterEqual(found["calls"], 3)
                            mean = found["mean_us"] + found["think_us"]
                            self.assertAlmostEqual(3e6 / found["calls_per_second"] / mean, 1, delta=0.1)

    def test_a_call_lasts_as_long_as_the_work_of_both_sides(self):
        # 4 messages are handled: the call and the reply, on both sides. The model's cost of one is 0.05 µs.
        for protocol in ("eager", "direct_write_imm", "rfp", "farm", "pilaf"):
            for polling in ("busy", "event"):
                with self.subTest(protocol=protocol, polling=polling):
                    words = ("--protocol", protocol, "--polling", polling, "--times")
                    once, often = (compute(*words, f"frame={factor}")["p50_us"] for factor in (1, 101))
                    self.assertGreater(often - once, 4 * 100 * 0.05 - 1)
                    self.assertLess(often - once, 4 * 100 * 0.05 + 3)

    def test_large_calls_take_the_time_of_their_bytes(self):
        size = 524288
        wire = 2 * size / 12.5e3
        copies = 4 * size / 10e3  # both sides touch each byte of the call and of the reply
        for protocol in PROTOCOLS:
            with self.subTest(protocol=protocol):
                self.assertGreater(compute("--protocol", protocol, "--size", size)["p50_us"], wire + copies)

    def test_messages_in_one_direction_use_the_wire(self):
        for words in (("--protocol", "hipower"), ("--protocol", "direct_write_imm", "--confirm-each"), ("--protocol", "write_rndv")):
            with self.subTest(words=words):
                small, large = (compute(*words, "--size", size, kind="oneway") for size in (64, 4096))
                self.assertGreater(small["messages_per_second"], 100e3)
                self.assertLess(large["gigabytes_per_second"], 12.5)
                self.assertGreater(large["gigabytes_per_second"], 4)

    def test_equal_runs_compute_equal_values(self):
        words = ("--clients", 40, "--polling", "event", "--protocol", "rfp")
        self.assertEqual(compute(*words), compute(*words))

    def test_over_more_threads_than_cores_event_polling_is_faster(self):
        words = ("--hardware", "broadwell-connectx4", "--clients", 48, "--client-hosts", 2, "--size", 512)
        busy, event = (compute(*words, "--polling", polling)["calls_per_second"] for polling in ("busy", "event"))
        self.assertLess(busy, event)

    def test_says_which_cost_was_changed(self):
        self.assertEqual(compute("--times", "doorbell=2")["times"], "doorbell=2")

    def test_refuses_options_that_do_not_fit(self):
        for words in (("calls", "--times", "doorbell=2"), ("calls", "--client-hosts", "2"),
                      ("calls", "--fabric", "model", "--times", "door=2"),
                      ("calls", "--fabric", "model", "--polling", "adaptive"), ("flag", "--fabric", "model"),
                      ("oneway", "--fabric", "model", "--zero-copy")):
            with self.subTest(words=words):
                done = subprocess.run([PROGRAMS / "engine_bench", *words], capture_output=True, check=False, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (2, b""))


if __name__ == "__main__":
    unittest.main()
