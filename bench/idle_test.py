# SPDX-License-Identifier: Apache-2.0
"""bench/idle_test.py: tests that a daemon with 1,000 idle rings uses under 1 % of a core, and wakes up seldom.

Uses the set-ups of the experiment `footprint`, with the polling mode `busy`, in which workers poll most. The values are
the CPU time and the wake-ups of a process, so that other work of the machine hardly changes them.

usage: idle_test.py PROGRAMS    the folder of hatrpcd, echo_server and idle_clients
"""

import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import types
import unittest

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH))

from experiments import footprint  # noqa: E402
from tool import processes, ways  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
RINGS = 1000
DESCRIPTORS = 4096  # at least, for each process
SECONDS, ATTEMPTS = 1.0, 4
# An idle daemon wakes up for its timers, some ten times a second. A daemon that slept for a millisecond at a time
# would wake up a thousand times.
WAKE_UPS_MAX = 100
WAKING_ATTEMPTS = 60


def over_limits(running):
    """Measures the processes until each has been within both limits once; returns words about those that never were.

    Something that happens once does not count. A process that polls is over a limit each time.
    """
    over = {one: None for one in running}
    for _ in range(ATTEMPTS):
        used = zip(over, footprint.use_of(list(over), SECONDS))
        over = {one: use for one, use in used if use[0] >= footprint.CPU_MS_MAX or use[1] >= WAKE_UPS_MAX}
        if not over:
            break
    return [f"{one.name} ({one.pid}): {cpu:.1f} ms of CPU time and {wake_ups:.0f} wake-ups per second"
            for one, (cpu, wake_ups) in over.items()]


class Limits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hatrpc-idle-")
        self.addCleanup(folder.cleanup)
        self.log = pathlib.Path(folder.name) / "log"

    def start(self, group, *scripts):
        running = [group.start([sys.executable, "-c", script], self.log) for script in scripts]
        time.sleep(footprint.SETTLE_SECONDS)  # until Python has started
        return running

    def test_a_process_that_polls_is_over_the_limit(self):
        with processes.Group() as group:
            polling, sleeping = self.start(group, "while True: pass", "import time; time.sleep(600)")
            [words] = over_limits([polling, sleeping])
        self.assertIn(f"({polling.pid})", words)

    def test_wake_ups_are_counted(self):
        with processes.Group() as group:
            [waking] = self.start(group, "import time\nwhile True: time.sleep(0.001)")
            for _ in range(WAKING_ATTEMPTS):  # on a busy machine, a sleep can take much longer
                [(_, wake_ups)] = footprint.use_of([waking], SECONDS)
                if wake_ups >= WAKE_UPS_MAX:
                    break
        self.assertGreaterEqual(wake_ups, WAKE_UPS_MAX)


class IdleDaemons(unittest.TestCase):
    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.assertGreaterEqual(hard, DESCRIPTORS, "raise the limit of open files (ulimit -Hn) for this test")
        if soft < DESCRIPTORS:
            resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))

    def test_a_thousand_idle_rings(self):
        for fabric in footprint.FABRICS:
            with self.subTest(fabric), tempfile.TemporaryDirectory(prefix="hatrpc-idle-") as folder, \
                    ways.Site(types.SimpleNamespace(folder=pathlib.Path(folder), programs=PROGRAMS)) as site:
                pair = footprint.start_pair(site, fabric, "shm", {"polling": "busy"})
                footprint.hold(site, pair, RINGS)
                for host, family in enumerate(("hatrpc_connections_open", "hatrpc_upstream_connections_open")):
                    self.assertEqual(pair.metrics(family, host), [({}, RINGS)])
                time.sleep(footprint.SETTLE_SECONDS)
                self.assertEqual(over_limits(pair.sidecars), [])


if __name__ == "__main__":
    if PROGRAMS is None:
        sys.exit(__doc__)
    del sys.argv[1]
    unittest.main()
