# SPDX-License-Identifier: Apache-2.0
"""client/rdma/example/example_test.py: runs the example of docs/trdma.md, and checks that the page has its files.

    example_test.py PROGRAMS
"""

import pathlib
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PROGRAMS = pathlib.Path(sys.argv[1])
SECONDS = 60

sys.path.insert(0, str(ROOT / "base"))

from free_ports import free_ports  # noqa: E402


class Example(unittest.TestCase):
    def test_the_page_has_the_files(self):
        page = (ROOT / "docs/trdma.md").read_text(encoding="utf-8")
        for name in "latency.thrift", "server.cc", "client.cc":
            lines = (HERE / name).read_text(encoding="utf-8").splitlines()
            shown = "\n".join(line.replace('"client/rdma/', "<hatrpc/").replace('.h"  // as installed: ', '.h"  // ')
                              for line in lines[2:]).strip()
            for header in "TRdma", "TServerRdma":
                shown = shown.replace(f'<hatrpc/{header}.h"  // <hatrpc/{header}.h>', f"<hatrpc/{header}.h>")
            self.assertIn(f"\n{shown}\n```\n", page, name)

    def test_a_client_calls_the_server(self):
        port = free_ports(1)[0]
        with subprocess.Popen([PROGRAMS / "latency_server", str(port)], stdout=subprocess.PIPE, text=True) as server:
            try:
                end = time.monotonic() + SECONDS
                while True:
                    client = subprocess.run([PROGRAMS / "latency_client", "localhost", str(port)], check=False,
                                            capture_output=True, text=True, timeout=SECONDS)
                    if client.returncode == 0 or time.monotonic() > end:
                        break
                    time.sleep(0.05)  # the server does not listen yet
                self.assertEqual(client.returncode, 0, client.stderr)
                self.assertTrue(client.stdout.startswith("hello; "), client.stdout)
                self.assertIn(": up", client.stdout)
                self.assertEqual(server.stdout.readline(), "start\n")
                self.assertEqual(server.stdout.readline(), "finish\n")
            finally:
                server.kill()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
