# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/hatkv_test.py: uses HatKV through two daemons, with sockets or with rings at both ends.

usage: hatkv_test.py PROGRAMS PEERS
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from nodes import TwoNodes, wait_until  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
MANIFEST = PROGRAMS.parent / "share" / "hatrpc" / "hatkv.yaml"  # the build makes it with hintgen


@contextlib.contextmanager
def hatkv_server(folder, listen):
    """Runs `hatkv serve` at the address `listen`; yields the actual address, with the chosen port if the port was 0."""
    server = subprocess.Popen([PROGRAMS / "hatkv", "serve", "--data", folder / "data", "--listen", listen],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield server.stdout.readline().removeprefix("listening on ").strip()
    finally:
        server.terminate()
        server.stdout.close()
        server.wait(timeout=60)


class HatKV(unittest.TestCase):
    def run_hatkv(self, address, *words):
        done = subprocess.run([PROGRAMS / "hatkv", *words], capture_output=True, timeout=100, check=False,
                              env={**os.environ, "HATKV_ADDRESS": address})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def check(self, listen, endpoint, fabric):
        with tempfile.TemporaryDirectory(prefix="hatkv-e2e-") as held:
            folder = pathlib.Path(held)
            endpoints = {"HatKV": endpoint.format(folder)} if endpoint else None
            with hatkv_server(folder, listen.format(folder)) as upstream, \
                    TwoNodes(PROGRAMS, MANIFEST.read_text(), {"HatKV": upstream}, endpoints=endpoints,
                             fabric=fabric) as nodes:
                self.check_calls(nodes.endpoints["HatKV"], upstream)
                self.check_counts(nodes)

    def check_calls(self, through, straight):
        self.run_hatkv(through, "put", "color", "green")
        self.assertEqual(self.run_hatkv(straight, "get", "color"), b"green\n")
        self.run_hatkv(through, "load", "--records", "500", "--batch", "50", "--quiet")
        self.assertEqual(self.run_hatkv(through, "scan"), self.run_hatkv(straight, "scan"))
        self.assertEqual(self.run_hatkv(through, "scan", "--keys", "user").count(b"\n"), 500)
        self.run_hatkv(through, "del", "color")
        self.assertIn(b"records          500\n", self.run_hatkv(through, "stats"))

    def check_counts(self, nodes):
        """Checks that host-a counted calls by function name, because HatKV's manifest lists the functions."""
        def counted():
            functions = {one["method"] for one in nodes.a.get("/functions")
                         if one["side"] == "client" and one["outcomes"]["success"] > 0}
            return {"put", "multiput", "scan", "remove", "stats"} <= functions
        wait_until("host-a has counted all calls", counted)

    def test_sockets_and_tcp_lanes(self):
        self.check("tcp:127.0.0.1:0", None, "tcp")

    def test_rings_and_rdma_lanes(self):
        self.check("shm:{}/kv.ring", "shm:{}/a.ring", "auto")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
