#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""base/free_ports_test.py: tests that processes that run at the same time get different free ports."""

import pathlib
import socket
import subprocess
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True

import free_ports  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
HOLDER = "import free_ports; print(*free_ports.free_ports(300), flush=True); input()"
HOLDERS = 4


class FreePorts(unittest.TestCase):
    def test_no_port_is_given_to_two_processes_that_run(self):
        holders = [subprocess.Popen([sys.executable, "-B", "-c", HOLDER], cwd=FOLDER, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True) for _ in range(HOLDERS)]
        given = [int(port) for one in holders for port in one.stdout.readline().split()]
        given += free_ports.free_ports(300)
        for one in holders:
            one.communicate("\n", timeout=10)
        self.assertEqual((len(given), len(set(given))), (300 * (HOLDERS + 1),) * 2)

    def test_a_port_in_use_is_not_given(self):
        with socket.create_server(("0.0.0.0", 0)) as listener, \
                mock.patch.object(free_ports, "_kernels_own", lambda: range(0)):
            port = listener.getsockname()[1]
            with self.assertRaisesRegex(OSError, f"no 1 free ports among {port} to {port}"):
                free_ports.free_ports(1, range(port, port + 1))

    def test_the_kernels_own_ports_are_not_given(self):
        with mock.patch.object(free_ports, "_kernels_own", lambda: range(10_000, 60_000)):
            self.assertRaises(OSError, free_ports.free_ports, 1)

    def test_the_commands_ports_are_nobody_elses(self):
        done = subprocess.run([FOLDER / "free_ports.py", "3"], capture_output=True, text=True, check=True)
        ports = [int(port) for port in done.stdout.split()]
        self.assertEqual(len(set(ports)), 3)
        for port in ports:
            self.assertIn(port, free_ports.COMMANDS)
            self.assertNotIn(port, free_ports.CLAIMED)


if __name__ == "__main__":
    unittest.main()
