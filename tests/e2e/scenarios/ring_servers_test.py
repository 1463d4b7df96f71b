# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/ring_servers_test.py: a server on rings replaces only the socket of a server that has died."""

import errno
import pathlib
import socket
import sys
import tempfile

from setting import PEERS, Client, Scenario, main, start_server

sys.path.insert(0, str(PEERS / "python" / "site"))

import hatrpc  # noqa: E402


class RingServers(Scenario):
    def setUp(self):
        self.path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "server.ring"
        self.address = f"shm:{self.path}"

    def test_a_cpp_server_starts_where_one_was_killed(self):
        killed = start_server(self.address)
        killed.process.kill()
        killed.stop()
        server = start_server(self.address)
        self.addCleanup(server.stop)
        with self.assertRaisesRegex(AssertionError, "probe_server"):
            start_server(self.address)
        with Client(None, address=self.address) as calls:
            self.assertEqual(calls.add(1, 2), 3, "the server that failed must leave the path alone")

    def test_a_python_server_starts_where_one_was_killed(self):
        with socket.socket(socket.AF_UNIX) as killed:
            killed.bind(str(self.path))
        server = hatrpc.TShmServerSocket(self.address)
        server.listen()
        self.addCleanup(server.close)
        with self.assertRaises(OSError) as raised:
            hatrpc.TShmServerSocket(self.address).listen()
        self.assertEqual(raised.exception.errno, errno.EADDRINUSE)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.path))
            server.accept().close()  # the path still leads to the first server

    def test_a_server_deletes_no_file_that_is_not_a_socket(self):
        self.path.write_text("somebody's", encoding="utf-8")
        with self.assertRaises(OSError):
            hatrpc.TShmServerSocket(self.address).listen()
        with self.assertRaisesRegex(AssertionError, "probe_server"):
            start_server(self.address)
        self.assertEqual(self.path.read_text(encoding="utf-8"), "somebody's")


if __name__ == "__main__":
    main()
