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


class IdleMesh(Fleet):
    def setUp(self):
        super().setUp()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.assertGreaterEqual(hard, DESCRIPTORS, "raise the limit of open files (ulimit -Hn) for this test")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, DESCRIPTORS), hard))

    def share_of_a_core(self, count, link_idle, links):
        """Starts `count` daemons; returns the part of a core that each uses, once each has `links` links to each other one.

        Checks that an idle link hardly needs memory.
        """
        addresses = {f"host-{number}": f"tcp:127.1.0.{number}:{LINK_PORT}" for number in range(1, count + 1)}
        running = []
        try:
            for name, address in addresses.items():
                peers = {other: {"link": link} for other, link in addresses.items() if other != name}
                running.append(self.start_node({
                    "node": name, "workers": WORKERS, "fabric": "tcp", "peers": peers,
                    "link": {"listen": address, "insecure": True}, "limits": {"link_idle": link_idle}}))
            for node in running:
                wait_until(f"{node.name} has its links", lambda its=node: sum(
                    link["up"] for link in its.get("/status")["links"]) == links * (count - 1), 60)
            time.sleep(SETTLE_S)
            before = [cpu_seconds(node.process) for node in running]
            began = time.monotonic()
            time.sleep(SECONDS)
            used = sum(cpu_seconds(node.process) - start for node, start in zip(running, before))
            share = used / (time.monotonic() - began) / count
            memory = sum(own_mib(node.process) for node in running) / count
            opened = sum(descriptors(node.process) for node in running) / count
        finally:
            for node in running:
                node.process.kill()
            for node in running:
                node.process.wait()
                node.process = None
            for folder in self.folder.glob("host-*"):
                folder.rename(folder.with_name(f"{count}-{folder.name}-{link_idle}"))
        print(f"{count} daemons with {WORKERS} workers each, link_idle {link_idle}: each uses {share:.2%} of a core, "
              f"{memory:.1f} MiB and {opened:.0f} descriptors", flush=True)
        both_ways = 2 * links * (count - 1)
        self.assertLess(memory, MIB_MAX + both_ways * LINK_MIB_MAX)
        return share

    def test_a_large_mesh_hardly_uses_the_processor(self):
        self.assertLess(self.share_of_a_core(NODES, "5min", links=1), SHARE_MAX)

    def test_links_of_all_workers_cost_more(self):
        self.assertLess(self.share_of_a_core(FEW_NODES, "5min", links=1),
                        self.share_of_a_core(FEW_NODES, "0s", links=WORKERS) / 2)


if __name__ == "__main__":
    main_in_a_network_namespace()
