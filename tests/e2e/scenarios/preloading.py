# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/preloading.py: runs programs with the preloaded library, for the tests of both of its sides."""

import contextlib
import json
import os
import subprocess

from setting import PEERS, PROGRAMS, Scenario, manifest
from nodes import TwoNodes, hatrpc_address
from peers import Peers

LIBRARY = PROGRAMS.parent / "lib" / "libhatrpc-preload.so"


def preloaded(rings=None, listen=None, library=LIBRARY):
    """Returns an environment that loads the preloaded library.

    `rings` and `listen` map TCP addresses to paths of rings: `rings` for connections, `listen` for listening sockets.
    """
    def text(addresses):
        return ",".join(f"{address}={path}" for address, path in (addresses or {}).items())

    return {**os.environ, "LD_PRELOAD": str(library), "HATRPC_RINGS": text(rings),
            "HATRPC_LISTEN_RINGS": text(listen)}


@contextlib.contextmanager
def both_ways(server_address):
    """Starts two nodes; host-a has a TCP endpoint and a ring for one service. Yields the nodes and the ring's path."""
    nodes = TwoNodes(PROGRAMS, manifest(), {"Probe": hatrpc_address(server_address)})
    config = json.loads(nodes.a.config.read_text())
    path = nodes.folder / "probe.ring"
    config["endpoints"].append({**config["endpoints"][0], "listen": f"shm:{path}"})
    nodes.a.config.write_text(json.dumps(config))
    with nodes:
        yield nodes, path


class StockScenario(Scenario):
    def run_client(self, language, transport, address, environment, skip=()):
        command, more = Peers(PEERS).command(language, "client")
        words = [*command, "--connect", address, "--transport", transport, "--protocol", "binary",
                 "--large", str(1 << 20)]
        for case in skip:
            words += ["--skip", case]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60,
                              env={**environment, **more})
        held = sum(line.startswith("ok ") for line in done.stdout.splitlines())
        self.assertEqual(done.returncode, 0, f"{language} {transport}: {done.stdout}{done.stderr}")
        self.assertGreaterEqual(held, 10, f"{language} {transport}: {done.stdout}{done.stderr}")
