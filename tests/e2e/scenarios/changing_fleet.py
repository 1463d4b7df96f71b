# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/changing_fleet.py: eight hosts with a hatrpcd each, and changes of them under a recorded load.

The clients are on hosts 1 and 2. Their daemons find the daemons of hosts 3 to 8, which have the servers, by a name in
the DNS.
"""

import collections
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from setting import PEERS, PROGRAMS, Client, manifest_with
from network import Network, hosts
from nodes import Node, ask, wait_until
from peers import HERE as E2E
from peers import PYTHON
from recorded_load import OK, RecordedLoad

LINK_PORT, SERVER_PORT = 7471, 9191
ENDPOINT = "127.0.0.1:9090"
CLIENT_HOSTS = (1, 2)
FIRST_SERVERS, LATER_SERVER = (3, 4, 5, 6, 7), 8
WITHOUT_LANES = 6  # a partition cuts the network and not the memory of lanes, so this host is the one to cut off
CALLERS = 6  # of each host with clients
PAUSE_S = 0.03
# Outcomes after which the server may have executed the call.
MAY_BE_EXECUTED = {"link_lost", "upstream_closed"}


def start_recording_server(host, folder):
    """Starts a recording server on the host. Returns its process; wait_for_server() waits until it listens."""
    site = PEERS / "python"
    return subprocess.Popen(
        [*host.enter, PYTHON, E2E / "recording_server.py", host.name, "127.0.0.1", str(SERVER_PORT),
         folder / f"executed-{host.number}"], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": f"{site / 'gen'}:{site / 'site'}"})


def wait_for_server(process):
    with process.stdout:
        assert process.stdout.readline() == "listening\n"


def executed(folder):
    """Returns how often the servers have executed each call, by its id."""
    counts = collections.Counter()
    for record in folder.glob("executed-*"):
        counts.update(record.read_text(encoding="utf-8").split())
    return counts


def prepare(folder, manifest_text):
    """Writes the manifest, and creates the folder of the lanes' sockets."""
    (folder / "manifests").mkdir()
    (folder / "manifests" / "probe.yaml").write_text(manifest_text, encoding="utf-8")
    (folder / "lanes").mkdir(mode=0o700)


def loop_fabric(folder):
    return {"kind": "loop", "loop_folder": str(folder / "lanes")}


def calls_by_lane(nodes):
    """Returns the number of calls of the nodes' clients that RDMA lanes have carried."""
    return sum(int(line.rpartition(" ")[2]) for node in nodes
               for line in ask(node.admin, "GET", "/metrics")[1].splitlines()
               if line.startswith("hatrpc_calls_total{") and 'fabric="loop"' in line)


class ChangingFleet:
    """The hosts, their daemons and servers, by the number of the host. A context manager."""

    def __init__(self):
        self.ends = contextlib.ExitStack()
        self.folder = None
        self.network = None
        self.nodes, self.servers = {}, {}
        self.changes = []  # (time, text)

    def __enter__(self):
        with self.ends:
            self.folder = pathlib.Path(self.ends.enter_context(tempfile.TemporaryDirectory(prefix="hatrpc-fleet-")))
            prepare(self.folder, manifest_with({"echo": {"idempotent": True}}))
            self.network = self.ends.enter_context(
                Network((*CLIENT_HOSTS, *FIRST_SERVERS, LATER_SERVER)))
            self.ends.callback(self.end_processes)
            self.resolve(*FIRST_SERVERS)
            for number in FIRST_SERVERS:
                self.start_server(number)
                self.start_node(number)
            for number in CLIENT_HOSTS:
                self.start_node(number)
                wait_until("all links are up", lambda n=number: self.links_up(n) == len(FIRST_SERVERS), 20)
            self.ends = self.ends.pop_all()
        return self

    def __exit__(self, *_):
        self.ends.close()

    def end_processes(self):
        for process in [node.process for node in self.nodes.values()] + list(self.servers.values()):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()

    def resolve(self, *numbers):
        self.network.dns.set(*hosts("fleet.example", *(self.network.hosts[number].address for number in numbers)))

    def links_up(self, number):
        return sum(link["up"] for link in self.nodes[number].get("/status")["links"])

    def start_server(self, number):
        process = start_recording_server(self.network.hosts[number], self.folder)
        wait_for_server(process)
        self.servers[number] = process

    def start_node(self, number):
        if number not in self.nodes:
            host = self.network.hosts[number]
            fabric = "tcp" if number == WITHOUT_LANES else loop_fabric(self.folder)
            config = {"node": host.name, "fabric": fabric, "workers": 1, "link": {"insecure": True}}
            if number in CLIENT_HOSTS:
                config["peers"] = {"fleet": {"link": f"dns:fleet.example:{LINK_PORT}", "serves": ["Probe"]}}
                config["endpoints"] = [{"listen": f"tcp:{ENDPOINT}", "service": "Probe"}]
            else:
                config["link"]["listen"] = f"tcp:{host.address}:{LINK_PORT}"
                config["serves"] = {"Probe": {"upstream": f"tcp:127.0.0.1:{SERVER_PORT}", "mode": "shared"}}
            self.nodes[number] = Node(PROGRAMS, self.folder, config, host=host)
        self.nodes[number].start()

    def load(self, **more):
        callers = [self.network.hosts[number] for number in CLIENT_HOSTS] * CALLERS
        return RecordedLoad(callers, lambda: Client(None, address=ENDPOINT), PAUSE_S, **more)

    def change(self, text):
        self.changes.append((time.monotonic(), text))

    # --- The changes ---

    def kill_server(self):
        """Kills a server, which starts again after a while."""
        self.change("host-3: server killed")
        self.servers[3].kill()
        self.servers[3].wait()

    def start_killed_server(self):
        self.change("host-3: server started")
        self.start_server(3)

    def kill_host(self):
        self.change("host-4: daemon and server killed")
        for process in (self.nodes[4].process, self.servers[4]):
            process.kill()
            process.wait()

    def drain(self):
        self.change("host-5: daemon drained")
        assert self.nodes[5].stop() == 0, self.nodes[5].log()

    def start_drained(self):
        self.change("host-5: daemon started")
        self.start_node(5)

    def add(self):
        self.change("host-8: added to the DNS")
        self.start_server(LATER_SERVER)
        self.start_node(LATER_SERVER)
        self.resolve(*FIRST_SERVERS, LATER_SERVER)

    def cut_off(self):
        self.change("host-6: cut off")
        self.network.hosts[6].connect(False)

    def connect(self):
        self.change("host-6: connected")
        self.network.hosts[6].connect(True)

    def slow_down(self):
        self.change("host-7: server slow")
        self.servers[7].send_signal(signal.SIGUSR1)

    def speed_up(self):
        self.change("host-7: server quick")
        self.servers[7].send_signal(signal.SIGUSR2)


def wrong_calls(calls, executed):
    """Returns a text for each call whose outcome breaks a promise of docs/guarantees.md."""
    wrong = []
    for call in calls:
        times = executed[call.name]
        if call.outcome == OK:
            good = times == 1 or (call.idempotent and times > 1)
        else:
            good = not call.idempotent and call.outcome in MAY_BE_EXECUTED and times <= 1
        if not good:
            kind = "idempotent" if call.idempotent else "not idempotent"
            wrong.append(f"call {call.name} ({kind}): {call.outcome}, executed {times} times, at {call.began:.2f}")
    return wrong
