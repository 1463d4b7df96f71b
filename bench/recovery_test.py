# SPDX-License-Identifier: Apache-2.0
"""bench/recovery_test.py: tests that calls on rings return to their rate within a second after a disturbance.

Runs the experiment `recovery` for 64 clients. Threads that wait must not stay in a slow state that an earlier load has
caused (docs/waiting.md).

usage: recovery_test.py PROGRAMS    the folder of hatrpcd, echo_client and echo_server
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH))

from tool import results  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
LIMIT_SECONDS = 280
# A single ratio says little, because the rate of 64 clients varies: in docs/results/recovery.json, ratios of one-second
# rates are from 0.41 to 1.66. A disturbance that leaves the threads in a slow state makes nearly all ratios low.
SECONDS = 2  # to measure each rate; in longer times the rate varies less
RATIOS = 6  # three rounds of the set-up and of its control
HIGH = 0.5
HIGH_RATIOS = 2  # at least this number of ratios must be above HIGH
MEDIAN_ABOVE = 1 / 3


class Recovery(unittest.TestCase):
    def test_the_rate_returns_within_a_second(self):
        with tempfile.TemporaryDirectory(prefix="hatrpc-recovery-") as folder:
            done = subprocess.run(
                [sys.executable, "-m", "tool", "run", "recovery", "--busy-anyway", "--clients", "64", "--rounds", "3",
                 "--seconds", str(SECONDS), "--peer", "latency", "--bin", PROGRAMS, "--out", folder],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, check=False,
                env={**os.environ, "PYTHONPATH": str(BENCH)})
            self.assertEqual(done.returncode, 0, done.stdout)
            [file] = pathlib.Path(folder).glob(f"*/{results.FILE}")
            found = results.read(file)
        for point in found.points:
            ratios = [row["values"]["recovered"] for row in found.rows if row["point"] == point]
            with self.subTest(point):
                self.assertEqual(len(ratios), RATIOS)
                self.assertGreaterEqual(sum(ratio > HIGH for ratio in ratios), HIGH_RATIOS, ratios)
                self.assertGreater(statistics.median(ratios), MEDIAN_ABOVE, ratios)


if __name__ == "__main__":
    if PROGRAMS is None:
        sys.exit(__doc__)
    del sys.argv[1]
    unittest.main()
