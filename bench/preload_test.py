# SPDX-License-Identifier: Apache-2.0
"""bench/preload_test.py: tests that the experiment `preload` measures preloaded programs, and that these use rings.

usage: preload_test.py PROGRAMS    the folder of hatrpcd, echo_client and echo_server
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH))

from experiments import preload  # noqa: E402
from tool import experiment, processes, results, ways  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
LIMIT_SECONDS = 120


class Preload(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hatrpc-preload-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def site(self, programs=PROGRAMS):
        return ways.Site(types.SimpleNamespace(folder=self.folder, programs=programs))

    def pair(self, site):
        return ways.preloaded_pair(site, site.programs / "echo_server", "Echo", ways.manifest("Echo", {"echo": {}}))

    def test_both_programs_use_rings(self):
        with self.site() as site:
            pair = self.pair(site)
            command = [PROGRAMS / "echo_client", pair.address, 2, 64, 20]
            with self.assertRaisesRegex(experiment.Failed, "refused"):
                processes.run_client(command, 1)  # without the library
            with processes.Client(command, 20, variables=pair.variables) as client:
                for running in (client.process, pair.server.process):
                    self.await_rings(running, 2)
                self.assertEqual(pair.metrics("hatrpc_connections_open"), [({}, 2)])

    def await_rings(self, process, count):
        """Waits until the process has mapped `count` rings."""
        end = time.monotonic() + processes.START_SECONDS
        maps = pathlib.Path(f"/proc/{process.pid}/maps")
        while maps.read_text(encoding="utf-8").count("hatrpc-ring") < count:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_a_library_that_is_not_built(self):
        with self.site(self.folder / "bin") as site, self.assertRaisesRegex(experiment.Failed, "hatrpc_preload"):
            self.pair(site)

    def test_every_set_up_is_measured(self):
        done = subprocess.run(
            [sys.executable, "-m", "tool", "run", "preload", "--quick", "--seconds", "1", "--clients", "2",
             "--bin", PROGRAMS, "--out", self.folder],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, check=False,
            env={**os.environ, "PYTHONPATH": str(BENCH)})
        self.assertEqual(done.returncode, 0, done.stdout)
        [file] = self.folder.glob(f"*/{results.FILE}")
        found = results.read(file)
        self.assertEqual({row["peer"] for row in found.rows}, {*preload.SOCKETS, preload.PRELOADED, found.control})
        for row in found.rows:
            for key in ("calls_per_s", "client_cpu_us", "server_cpu_us"):
                self.assertGreater(row["values"][key], 0, row)


if __name__ == "__main__":
    if PROGRAMS is None:
        sys.exit(__doc__)
    del sys.argv[1]
    unittest.main()
