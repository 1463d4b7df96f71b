#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kv/ycsb/draws_test.py: tests that hatkv-ycsb draws keys, values and operations as YCSB does.

usage: draws_test.py PROGRAMS BINDING

Two programs print the output of the generators: draws.cc for hatkv-ycsb, and java/…/Draws.java for YCSB. Values that
are not random must be equal. Random values must have the same distribution, by a chi-square test of two samples. The
bound is so wide that about one run in ten million fails by chance.
"""

import collections
import math
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from ycsb import build  # noqa: E402

PROGRAMS, BINDING = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
WORKLOADS = HERE / "workloads"
DRAWS = 60_000
SECONDS = 100


class Drawn:
    """The parsed output of one of the two programs."""

    def __init__(self, command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=False, timeout=SECONDS)
        if done.returncode != 0:
            raise AssertionError(f"{command}: {done.stderr}")
        lines = done.stdout.splitlines()
        drawn = ("record ", "operation ", "constant ")
        self.exact = [line for line in lines if not line.startswith(drawn)]
        self.constants = {line.split()[1]: float(line.split()[2])
                          for line in lines if line.startswith("constant ")}
        self.records = self.counted(lines, "record ")
        self.operations = self.counted(lines, "operation ")

    @staticmethod
    def counted(lines, prefix):
        return collections.Counter(line.removeprefix(prefix) for line in lines
                                   if line.startswith(prefix))


def native(workload, *assignments):
    return Drawn([PROGRAMS / "ycsb_draws", DRAWS, WORKLOADS / workload, *assignments])


def java(workload, *assignments):
    return Drawn(["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp",
                  f"{BINDING}/test-classes:{build.class_path(BINDING)}",
                  "site.ycsb.workloads.Draws", DRAWS, WORKLOADS / workload, *assignments])


def in_bins(one, other):
    """Counts values of two samples in bins. Each frequent value has a bin of its own, and rare values share 50 bins."""
    bins = collections.defaultdict(lambda: [0, 0])
    for value in one.keys() | other.keys():
        frequent = one[value] + other[value] >= 40 or not value.isdigit()
        pair = bins[value if frequent else int(value) % 50]
        pair[0] += one[value]
        pair[1] += other[value]
    return bins.values()


def excess(one, other):
    """Returns chi-square divided by its bound. Above 1, the two samples have different distributions."""
    ratio = math.sqrt(one.total() / other.total())
    pairs = [(a, b) for a, b in in_bins(one, other) if a + b]
    chi_square = sum((a / ratio - b * ratio) ** 2 / (a + b) for a, b in pairs)
    freedom = len(pairs) - 1
    return chi_square / (freedom + 7 * math.sqrt(2 * freedom) + 20)


CASES = {
    "workload A": ("a",),
    "workload B, its values checked": ("b", "dataintegrity=true", "recordcount=1000"),
    "latest, few records": ("a", "requestdistribution=latest", "recordcount=500"),
    "uniform, a part, in order": ("a", "requestdistribution=uniform", "recordcount=900",
                                  "insertstart=100", "insertcount=300", "insertorder=ordered"),
    "zipfian of a part, short keys": ("b", "recordcount=900", "insertstart=100",
                                      "insertcount=300", "zeropadding=1", "fieldcount=2",
                                      "fieldlength=7", "fieldnameprefix=f"),
}


class Draws(unittest.TestCase):
    def test_both_are_the_same(self):
        for name, case in CASES.items():
            ours, ycsbs = native(*case), java(*case)
            with self.subTest(name):
                self.assertEqual(ours.exact, ycsbs.exact)
                self.assertEqual(ours.constants.keys(), ycsbs.constants.keys())
                for constant, value in ycsbs.constants.items():
                    self.assertAlmostEqual(ours.constants[constant] / value, 1, delta=1e-12)
                self.assertEqual((ours.records.total(), ycsbs.records.total()), (DRAWS, DRAWS))
                self.assertLess(excess(ours.records, ycsbs.records), 1)
                self.assertLess(excess(ours.operations, ycsbs.operations), 1)

    def test_what_differs_a_little_is_found(self):
        a = native("a", "recordcount=1000")
        for other in ("recordcount=1001", "requestdistribution=uniform"):
            with self.subTest(other):
                self.assertGreater(excess(a.records, native("a", "recordcount=1000", other).records),
                                   1)
        shifted = native("a", "multireadproportion=0.30", "readproportion=0.20")
        self.assertGreater(excess(a.operations, shifted.operations), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
