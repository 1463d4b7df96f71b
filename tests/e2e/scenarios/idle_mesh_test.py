# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/idle_mesh_test.py: many daemons that all have links to each other, and no clients.

Measures the CPU time of the daemons, so that other work of the machine hardly changes the values, and prints their
memory (pages that belong to one process alone) and descriptors.
"""

import pathlib
import re
import resource
import time

from fleet import LINK_PORT, Fleet, main_in_a_network_namespace
from nodes import wait_until

WORKERS = 8
NODES = 100
FEW_NODES = 24  # with links of all workers, more nodes would need too much time
SETTLE_S, SECONDS = 3, 10
SHARE_MAX = 0.01  # of a core, for each daemon
MIB_MAX = 8  # the anonymous memory of each daemon without links
LINK_MIB_MAX = 0.05  # and of each link; a receive buffer that was written completely has 0.25 MiB
DESCRIPTORS = 4096  # for each daemon


def cpu_seconds(process):
    """Returns how long the process's threads have run."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9


def own_mib(process):
    """Returns the resident memory of a process that no file and no other process has, in MiB."""
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"RssAnon:\s+(\d+) kB", text).group(1)) / 1024


def descriptors(process):
    return len(list(pathlib.Path(f"/proc/{process.pid}/fd").iterdir()))


class Mesh:
    """`count` daemons, each of which has `links` links to each other one. `number` is unique in the test."""

    def __init__(self, number, count, link_idle, links):
        self.number, self.count, self.link_idle, self.links = number, count, link_idle, links
        self.nodes = []

    def start(self, start_node):
        """Starts the daemons with start_node(configuration)."""
        addresses = {f"host-{self.number}-{number}": f"tcp:127.{self.number}.0.{number}:{LINK_PORT}"
                     for number in range(1, self.count + 1)}
        for name, address in addresses.items():
            peers = {other: {"link": link} for other, link in addresses.items() if other != name}
            self.nodes.append(start_node({
                "node": name, "workers": WORKERS, "fabric": "tcp", "peers": peers,
                "link": {"listen": address, "insecure": True}, "limits": {"link_idle": self.link_idle}}))

    def wait_for_links(self):
        for node in self.nodes:
            wait_until(f"{node.name} has its links", lambda its=node: sum(
                link["up"] for link in its.get("/status")["links"]) == self.links * (self.count - 1), 60)

    def kill(self):
        for node in self.nodes:
            node.process.kill()
        for node in self.nodes:
            node.process.wait()
            node.process = None

    def mean(self, of_process):
        """Returns the mean of a function of the daemons' processes."""
        return sum(of_process(node.process) for node in self.nodes) / self.count


class IdleMesh(Fleet):
    def setUp(self):
        super().setUp()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.assertGreaterEqual(hard, DESCRIPTORS, "raise the limit of open files (ulimit -Hn) for this test")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, DESCRIPTORS), hard))

    def shares_of_a_core(self, *meshes):
        """Starts the meshes. Returns for each the part of a core that a daemon uses, measured in the same seconds.

        Checks that an idle link hardly needs memory.
        """
        try:
            for mesh in meshes:
                mesh.start(self.start_node)
            for mesh in meshes:
                mesh.wait_for_links()
            time.sleep(SETTLE_S)
            before = [(mesh.mean(cpu_seconds), time.monotonic()) for mesh in meshes]
            time.sleep(SECONDS)
            shares = [(mesh.mean(cpu_seconds) - used) / (time.monotonic() - began)
                      for mesh, (used, began) in zip(meshes, before)]
            for mesh, share in zip(meshes, shares):
                memory = mesh.mean(own_mib)
                print(f"{mesh.count} daemons with {WORKERS} workers each, link_idle {mesh.link_idle}: each uses "
                      f"{share:.2%} of a core, {memory:.1f} MiB and {mesh.mean(descriptors):.0f} descriptors", flush=True)
                both_ways = 2 * mesh.links * (mesh.count - 1)
                self.assertLess(memory, MIB_MAX + both_ways * LINK_MIB_MAX)
        finally:
            for mesh in meshes:
                mesh.kill()
        return shares

    def test_idle_links_hardly_use_the_processor(self):
        large, few, of_all_workers = self.shares_of_a_core(
            Mesh(1, NODES, "5min", links=1), Mesh(2, FEW_NODES, "5min", links=1),
            Mesh(3, FEW_NODES, "0s", links=WORKERS))
        self.assertLess(large, SHARE_MAX)
        self.assertLess(few, of_all_workers / 2, "links of all workers cost more")


if __name__ == "__main__":
    main_in_a_network_namespace()
