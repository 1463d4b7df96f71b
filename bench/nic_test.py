# SPDX-License-Identifier: Apache-2.0
"""bench/nic_test.py: tests `./dev nic serve` and `./dev nic measure` on one host, over shared memory.

tests/lab/nic_test.py tests the same commands with two RDMA devices.

usage: nic_test.py PROGRAMS    the folder of hatrpcd, hatctl, echo_client and echo_server
"""

import collections
import contextlib
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH))

from nic import __main__ as main, measure, services, trial  # noqa: E402
from tool import clock, ways  # noqa: E402
from tool.experiment import Failed  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
LIMIT_SECONDS = 240
LOAD = ("--payloads", "16384", "--clients", "2")


def free_address():
    return f"127.0.0.1:{ways.free_ports(1)[0]}"


def common(*more):
    return ("--bin", PROGRAMS, "--fabric", "loop", *more)


def children(pid):
    """Returns the process numbers of all processes that a process has started and that still run."""
    done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in done.stdout.split()]


class Nic(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hatrpc-nic-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def measure(self, address, *words):
        return trial.run("measure", address, *common("--output", self.folder, "--seconds", "0.1", "--rounds", "1"),
                         *words, seconds=LIMIT_SECONDS)

    def test_everything_is_measured_and_packed(self):
        address = free_address()
        with trial.serving(address, *common(*LOAD)) as (_, lines):
            self.assertIn(f"listening on {address}, TCP, without TLS and without a password", lines[0])
            self.assertIn(f"  ./dev nic measure {address} --fabric loop --payloads 16384 --clients 2\n", lines)
            done = self.measure(address, *LOAD)
            self.assertEqual(done.returncode, 0, done.stdout)
        archive = trial.Archive(self.folder)
        self.assertEqual(archive.mistakes(), [])
        self.assertIn(f"{archive.name}.tar.gz", done.stdout)
        self.assertIn("Nothing has been sent to anybody.", done.stdout)
        report = archive.text("report.md")
        self.assertIn("They say nothing about the speed of RDMA.", report)
        for name in re.findall(r"\]\((plots/[^)]+)\)", report):
            self.assertIn("<svg", archive.text(name))
        self.assertEqual(report.count("](plots/"), 3)
        self.assertRegex(report, r"\| latency_16384 \| planner \| direct_write_imm, \w+ \|")
        self.assertRegex(report, r"\| latency_16384 \| planner, measured costs \| .* measured: ")

    def test_hosts_that_differ_are_not_compared(self):
        address = free_address()
        with trial.serving(address, *common(*LOAD)):
            done = self.measure(address, "--payloads", "64", "--clients", "2")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("nic: the hosts differ in --payloads: this host has 64, the other host 16384", done.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_an_address_where_nobody_listens(self):
        address = free_address()
        done = self.measure(address)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(f"nic: cannot connect to {address}: ", done.stdout)
        self.assertIn(f"start `./dev nic serve {address}` on the other host", done.stdout)

    def test_a_host_without_the_device(self):
        done = trial.run("serve", free_address(), "--bin", PROGRAMS, "--device", "hatrpc-none")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, "nic: hatrpcd ended, status 69: .* RDMA device")

    def test_a_signal_ends_all_processes(self):
        address = free_address()
        with trial.serving(address, *common(*LOAD)) as (process, _):
            started = children(process.pid)
            self.assertEqual(len(started), 2)
            process.terminate()
            self.assertEqual(process.wait(trial.END_SECONDS), 130)
        for pid in started:
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())

    def test_wrong_options_are_refused(self):
        for words in (("serve", "a:0"), ("serve", "a", "--payloads", "0"), ("serve", "a", "--payloads", "1,x"),
                      ("measure", "a", "--clients", "1"), ("measure", "a", "--seconds", "0"), ("measure",),
                      ("serve", "a", "--device", "b", "--fabric", "loop")):
            with self.subTest(words):
                with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()):
                    main.main(words)
                self.assertEqual(ended.exception.code, 2)


class Parts(unittest.TestCase):
    def test_every_protocol_of_the_engine_is_measured(self):
        text = (BENCH.parent / "engine/protocols.h").read_text(encoding="utf-8")
        self.assertEqual([services.TCP, *re.findall(r'Protocol\{"(\w+)"', text), services.PLANNED, services.MEASURED],
                         list(services.PEERS))

    def test_hosts_with_different_code_are_not_compared(self):
        measure.check_same({"commit": "1"}, {"commit": "1"})
        with self.assertRaisesRegex(Failed, "differ in commit: this host has 1, the other host 2"):
            measure.check_same({"commit": "1"}, {"commit": "2"})

    def measured(self, *requests):
        """Returns the values of a measurement of `eager` with one call by each of `requests`."""
        after = collections.Counter(("eager_64", request, request) for request in requests)
        client = mock.Mock(endpoints={"eager_64": "shm:/echo"})
        client.calls.side_effect = [collections.Counter(), after]
        client.cpu_seconds.side_effect = [1.0, 1.5]
        client.reasons_for_tcp.return_value = {"lane_down": 7}
        site = mock.Mock(programs=PROGRAMS)
        site.client.return_value = dict.fromkeys(("p50", "p99", "calls_per_s", *clock.UNITS), 1.0)
        with mock.patch.object(measure, "SETTLE_SECONDS", -1):
            return measure.Ways(site, {services.PLANNED: client}, "").measure("eager", {"bytes": 64, "clients": 1}, 1)

    def test_calls_in_the_wanted_way_are_measured(self):
        values = self.measured("eager", "write_rndv", *["eager"] * 8)
        self.assertEqual((values["as_wanted"], values["client_sidecar_cpu_us"]), (1.0, 50_000.0))

    def test_calls_in_another_way_fail_the_measurement(self):
        with self.assertRaisesRegex(Failed, "only 75% of the calls went in the wanted way; .* reason: lane_down 7"):
            self.measured("eager", "eager", "eager", "tcp")

    def test_a_measurement_without_a_call_is_repeated_with_twice_the_time(self):
        site, client = mock.Mock(programs=PROGRAMS), mock.Mock(endpoints={"eager_64": "shm:/echo"})
        client.cpu_seconds.return_value = 1.0
        client.calls.return_value = collections.Counter()
        site.client.side_effect = [Failed(f"echo_client: {measure.NO_CALL}"), Failed("a reply differs")]
        with self.assertRaisesRegex(Failed, "a reply differs"):
            measure.Ways(site, {services.PLANNED: client}, "").measure("eager", {"bytes": 64, "clients": 1}, 0.5)
        self.assertEqual([call.args[1] for call in site.client.call_args_list], [0.5, 1.0])

    def test_a_way_without_a_profile_fails_with_the_reason(self):
        with self.assertRaisesRegex(Failed, "there is no profile: no device"):
            measure.Ways(None, {}, "no device").measure(services.MEASURED, {"bytes": 64, "clients": 1}, 1)


if __name__ == "__main__":
    if PROGRAMS is None:
        sys.exit(__doc__)
    del sys.argv[1]
    unittest.main()
