#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/tool/ways_test.py: tests the set-ups of `./dev bench` that carry calls through a pair of hatrpcd.

usage: ways_test.py PROGRAMS    the folder of hatrpcd, echo_client and echo_server
"""

import contextlib
import pathlib
import sys
import tempfile
import time
import types
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))

from tool import experiment, ways  # noqa: E402

PROGRAMS = None
WAIT_SECONDS = 60


class Ways(unittest.TestCase):
    def test_a_pair_carries_calls_by_the_protocol_of_its_manifest(self):
        for protocol, polling, local in (("eager", "busy", "tcp"), ("rfp", "event", "shm")):
            manifest = ways.manifest("Echo", {"echo": {"protocol": protocol, "polling": polling}})
            with self.subTest(protocol), tempfile.TemporaryDirectory() as folder, \
                    ways.Site(types.SimpleNamespace(folder=pathlib.Path(folder),
                                                    programs=PROGRAMS)) as site:
                server = site.server([PROGRAMS / "echo_server", site.address(local)])
                way = ways.hatrpcd_pair(site, server, "Echo", manifest, local, fabric="loop")
                end = time.monotonic() + WAIT_SECONDS
                counts = way.calls_by_protocol("echo")
                while not counts[protocol]:  # until the lane is up, calls use TCP
                    self.assertLess(time.monotonic(), end)
                    with contextlib.suppress(experiment.Failed):  # on a busy machine, a short run can have no answer
                        site.client([PROGRAMS / "echo_client", way.address, 1, 64, 0.1], 0.1)
                    counts = way.calls_by_protocol("echo")
                self.assertLessEqual(set(counts), {protocol, "tcp"})
                self.assertGreater(ways.share(counts, protocol), 0)
                self.assertEqual(way.calls_by_protocol("bulk").total(), 0)
                sidecars, of_server = way.cpu_seconds()
                self.assertGreaterEqual(min(sidecars, of_server), 0)
                way.sidecars[0].kill()
                way.sidecars[0].wait()
                with self.assertRaisesRegex(experiment.Failed, "hatrpcd ended, status -9"):
                    way.cpu_seconds()

    def test_planned_share(self):
        counts = ways.collections.Counter({
            ("rfp", "rfp"): 5, ("write_rndv", "rfp"): 1, ("rfp", "eager"): 2, ("rfp", "none"): 1,
            ("read_rndv", "read_rndv"): 4, ("eager", "write_rndv"): 2, ("tcp", "tcp"): 5})
        for protocol, part in (("rfp", 0.35), ("eager", 0.1), ("write_rndv", 0), ("ar_grpc", 0.2), ("read_rndv", 0.2)):
            self.assertEqual(ways.planned_share(counts, protocol), part)
        self.assertEqual(ways.rdma_share(counts), 0.75)
        self.assertEqual(ways.rdma_share(ways.collections.Counter()), 0.0)

    def test_share(self):
        for counts, part in (({"eager": 3, "tcp": 1}, 0.75), ({"tcp": 1}, 0.0), ({}, 0.0)):
            self.assertEqual(ways.share(ways.collections.Counter(counts), "eager"), part)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
