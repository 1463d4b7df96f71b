#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kv/ycsb/load_test.py: runs YCSB and hatkv-ycsb on HatKV through two hatrpcds, and compares the counts of calls.

usage: load_test.py PROGRAMS BINDING
"""

import math
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from ycsb import setting  # noqa: E402
from ycsb.setting import Failed  # noqa: E402

PROGRAMS, BINDING = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
RECORDS, OPERATIONS = 400, 3000
SECONDS = 100

PROPORTIONS = {"a": {"READ": .25, "UPDATE": .25, "MULTIREAD": .25, "MULTIUPDATE": .25},
               "b": {"READ": .475, "UPDATE": .025, "MULTIREAD": .475, "MULTIUPDATE": .025}}


def properties(workload, *more):
    return [setting.workload(workload), f"recordcount={RECORDS}", f"operationcount={OPERATIONS}",
            "threadcount=4", "dataintegrity=true", *more]


def by_function(calls):
    counts = {}
    for (function, _), count in calls.items():
        counts[function] = counts.get(function, 0) + count
    return {function: count for function, count in counts.items() if count}


def replies_that_were_read(calls):
    """Returns how many of `calls` (place.calls()) of multiget had replies that the client's daemon READ."""
    return sum(count for (function, protocols), count in calls.items()
               if function == "multiget" and protocols.endswith("/ rfp"))


class Load(unittest.TestCase):
    def drive(self, place, driver, workload, *more):
        """Runs a driver and checks the workload's proportions; returns the counts of the driver and of the daemon."""
        before = place.calls()
        driven = place.drive(driver, "run", properties(workload, *more))
        carried = by_function(place.calls() - before)
        counts = {operation: driven.count(operation) for operation in PROPORTIONS[workload]}
        self.assertEqual(sum(counts.values()), OPERATIONS)
        for operation, proportion in PROPORTIONS[workload].items():
            spread = math.sqrt(OPERATIONS * proportion * (1 - proportion))
            self.assertAlmostEqual(counts[operation], OPERATIONS * proportion, delta=6 * spread)
        return counts, carried

    def assert_made(self, counts, carried):
        self.assertEqual(carried, {setting.FUNCTIONS[operation]: count
                                   for operation, count in counts.items()})

    def test_each_runs_on_what_the_other_loaded(self):
        for loader, runner, local in (("native", "java", "tcp"), ("java", "native", "unix")):
            with self.subTest(loader), setting.start(PROGRAMS, BINDING, local) as place:
                loaded = place.drive(loader, "load", properties("a"))
                self.assertEqual(loaded.count("INSERT"), RECORDS)
                self.assertEqual(by_function(place.calls()), {"put": RECORDS})
                counts, carried = self.drive(place, runner, "a")  # dataintegrity=true makes the driver check values
                self.assert_made(counts, carried)

    def test_replies_of_multiget_are_read(self):
        with setting.start(PROGRAMS, BINDING, fabric="loop") as place:
            place.drive("native", "load", properties("b"))
            manifest = setting.manifest(PROGRAMS)
            manifest["services"]["HatKV"]["hint"]["concurrency"] = "over"  # on each host, however many cores it has
            place.way.change_manifest(manifest)
            before = place.calls()
            place.drive("native", "run", properties("b"))
            calls = place.calls() - before
            self.assertGreater(replies_that_were_read(calls), 0, calls)

    def test_workload_b_over_rings(self):
        with setting.start(PROGRAMS, BINDING, "shm") as place:
            place.drive("native", "load", properties("b"))
            for driver in ("native", "java"):
                with self.subTest(driver):
                    self.assert_made(*self.drive(place, driver, "b"))

    def test_an_update_of_one_field_reads_the_record_first(self):
        with setting.start(PROGRAMS, BINDING) as place:
            place.drive("native", "load", properties("a"))
            for driver in ("native", "java"):
                with self.subTest(driver):
                    counts, carried = self.drive(place, driver, "a", "writeallfields=false")
                    self.assertEqual(carried, {
                        "get": counts["READ"] + counts["UPDATE"], "put": counts["UPDATE"],
                        "multiget": counts["MULTIREAD"] + counts["MULTIUPDATE"],
                        "multiput": counts["MULTIUPDATE"]})

    def test_ycsb_scans(self):
        with setting.start(PROGRAMS, BINDING) as place:
            place.drive("native", "load", properties("a"))
            before = place.calls()
            driven = place.drive("java", "run", properties(
                "a", "workload=site.ycsb.workloads.CoreWorkload", "readproportion=0",
                "updateproportion=0", "scanproportion=1", "maxscanlength=30", "operationcount=200"))
            self.assertEqual(driven.count("SCAN"), 200)
            self.assertEqual(by_function(place.calls() - before), {"scan": 200})

    def test_failures_are_told(self):
        with setting.start(PROGRAMS, BINDING) as place:  # the store is empty
            for driver in ("native", "java"):
                with self.subTest(driver), self.assertRaisesRegex(Failed, "was it loaded"):
                    place.drive(driver, "run", properties("b", "operationcount=40"))
            place.way.address = str(place.site.port())  # no process listens there
            for driver in ("native", "java"):
                with self.subTest(driver), self.assertRaisesRegex(Failed, "cannot connect to tcp"):
                    place.drive(driver, "run", properties("b", "operationcount=40"))

    def test_one_command_does_all(self):
        done = subprocess.run(
            [setting.HERE / "run.py", "b", "--bin", PROGRAMS, "--driver", "native", "--records",
             "300", "--operations", "1000", "--threads", "2"],
            capture_output=True, text=True, check=False, timeout=SECONDS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for line in (r"\[INSERT\], Return=OK, 300", r"\[READ\], 95thPercentileLatency\(us\), \S+",
                     r"put +300  \S.*", r"multiget +\d+  \S.*"):
            self.assertRegex(done.stdout, rf"(?m)^{line}$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
