# SPDX-License-Identifier: Apache-2.0
"""tests/lab/numa_test.py: tests `worker_cores` and the hint `numa` on a host with two NUMA nodes.

usage: numa_test.py PROGRAMS PEERS

tests/lab/lab.py runs it in the virtual machine, whose core 0 is on node 0 and core 1 on node 1. The kernel's
/proc/PID/numa_maps says on which node each page is.
"""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml
from cases import run_cases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e" / "scenarios"))
from setting import Client, PROGRAMS, manifest, probe_nodes  # noqa: E402
from nodes import ask, wait_until  # noqa: E402

BOTH_CORES = {"worker_cores": "0-1"}
# Long times, because everything takes many times longer on emulated processors.
PATIENT = {"keepalive_timeout": "60s", "keepalive_interval": "5s", "connect_timeout": "20s",
           "lane_settle": "200ms", "peer_wait": "20s"}


def two_nodes(text=None, keys_a=None, keys_b=None, fabric="tcp", fabric_b=None, **more):
    return probe_nodes(manifest_text=text or manifest_with({}), limits=PATIENT, fabric=fabric, fabric_b=fabric_b,
                       keys={"host-a": keys_a or BOTH_CORES, "host-b": keys_b or BOTH_CORES}, **more)


def manifest_with(hints):
    """Returns the manifest of Probe with hints for some functions alone, by the function's name."""
    text = yaml.safe_load(manifest())
    for name, function in text["services"]["Probe"]["functions"].items():
        for key in ("hint", "c_hint", "s_hint"):
            function.pop(key, None)
        function.update(hints.get(name, {}))
    return yaml.safe_dump(text)


def threads(node):
    """Returns the folder in /proc of each thread of the node's hatrpcd, by the thread's name."""
    folders = pathlib.Path(f"/proc/{node.process.pid}/task").iterdir()
    return {(folder / "comm").read_text().strip(): folder for folder in folders}


def pages_by_node(node, name):
    """Returns, for each mapping of the memory `name` in the node's hatrpcd, how many pages are on each NUMA node."""
    maps = pathlib.Path(f"/proc/{node.process.pid}/numa_maps").read_text()
    return [{int(number): int(pages) for number, pages in re.findall(r" N(\d+)=(\d+)", line)}
            for line in maps.splitlines() if f"/memfd:{name}" in line]


def busy_worker(node, call):
    """Returns the index of the worker that did nearly all of the work during call()."""
    def used():
        return [int((threads(node)[f"worker-{i}"] / "schedstat").read_text().split()[0]) for i in (0, 1)]
    before = used()
    call()
    spent = [end - begin for begin, end in zip(before, used())]
    least = min(spent)
    assert max(spent) > 5 * least, f"both workers worked: {spent} ns"
    return 1 - spent.index(least)


def call_often(nodes):
    for _ in range(4):  # each connection may go to another worker
        with Client(nodes, timeout_ms=60_000) as calls:
            for i in range(25):
                assert calls.add(i, 1) == i + 1


def the_machine_has_two_nodes():
    for node in "01":
        cores = pathlib.Path(f"/sys/devices/system/node/node{node}/cpulist").read_text().strip()
        assert cores == node, f"node {node} has the cores {cores}"


def workers_are_bound_to_their_cores():
    with two_nodes() as nodes:
        for node in (nodes.a, nodes.b):
            for i in (0, 1):
                status = (threads(node)[f"worker-{i}"] / "status").read_text()
                assert f"Cpus_allowed_list:\t{i}\n" in status, status
            placement = node.get("/status")["worker_placement"]
            assert placement == [{"cores": "0", "numa_node": 0}, {"cores": "1", "numa_node": 1}], placement


# The memory with which a link's lanes begin, by the name of its mappings, in pages of 4 KiB (engine/memory/arena.h):
# 1 MiB for lanes, and for receiving and sending another 1 MiB for large messages.
FIRST_PAGES = {"hatrpc-receive": 512, "hatrpc-send": 512, "hatrpc-control": 256}


def call_until_lanes_are_up(nodes, worker, count, call):
    """Makes calls until host-a has `count` RDMA lanes, which are all of this worker and up."""
    def are_up():
        call()
        lanes = [(link["worker"], lane["state"]) for link in nodes.a.get("/status")["links"] for lane in link["lanes"]]
        return lanes == [(worker, "up")] * count
    wait_until(f"worker {worker} has {count} lanes", are_up, 120)


def registered_mappings(node, numa_node):
    """Returns how many mappings of registered memory the node has, by name; checks that they are on `numa_node`."""
    mappings = {}
    for name, first in FIRST_PAGES.items():
        pages = pages_by_node(node, name)
        assert all(list(one) == [numa_node] for one in pages), f"{name}, expected on node {numa_node}: {pages}"
        total = sum(one[numa_node] for one in pages)
        assert total >= first, f"all of {name} is pinned, at least {first} pages: {pages}"
        mappings[name] = len(pages)
    return mappings


def registered_memory_is_on_the_workers_node():
    """Tests the memory with which a link's lanes begin, and the memory that is added for more lanes."""
    def fabric(device):
        return {"kind": "verbs", "device": device, "max_pinned": "36MiB"}
    for worker in (0, 1):  # which is on the NUMA node of the same number
        text = manifest_with({"add": {"hint": {"numa": worker, "protocol": "direct_write_imm"}},
                              "ping": {"hint": {"protocol": "direct_write_send"}},
                              "echo": {"hint": {"protocol": "chained_write_send"}}})
        with two_nodes(text, fabric=fabric("rxe1"), fabric_b=fabric("rxe2")) as nodes, \
                Client(nodes, timeout_ms=60_000) as calls:
            both = (nodes.a, nodes.b)
            call_until_lanes_are_up(nodes, worker, 1, lambda: calls.add(1, 1))
            first = [registered_mappings(node, worker) for node in both]
            call_until_lanes_are_up(nodes, worker, 3, lambda: (calls.ping(), calls.echo(b"e")))
            for before, after in zip(first, [registered_mappings(node, worker) for node in both]):
                assert all(after[name] > before[name] for name in FIRST_PAGES), f"{before} has not grown: {after}"


@contextlib.contextmanager
def on_core(core):
    """Lets this program, which is the client, run on one core alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def nodes_of_new_rings(nodes):
    with contextlib.ExitStack() as clients:
        for _ in range(6):
            calls = clients.enter_context(Client(nodes, timeout_ms=60_000))
            assert calls.echo(b"r" * 100_000) == b"r" * 100_000
        rings = pages_by_node(nodes.a, "hatrpc-ring")
        assert len(rings) >= 6, rings
        return {number for ring in rings for number in ring}


def rings_are_on_the_node_of_the_hint():
    """The client runs on the other node, so that pages would come from there if nobody requested them."""
    with tempfile.TemporaryDirectory(prefix="hatrpc-lab-") as folder:
        endpoint = {"Probe": f"shm:{folder}/probe.ring"}
        with two_nodes(manifest_with({"add": {"hint": {"numa": 1}}}), endpoints=endpoint) as nodes:
            with on_core(0):
                assert nodes_of_new_rings(nodes) == {1}
            nodes.manifest.write_text(manifest_with({"echo": {"c_hint": {"numa": 0}}}))
            status, body = ask(nodes.a.admin, "POST", "/reload")
            assert status == 200, body
            wait_until("the old rings are gone", lambda: not pages_by_node(nodes.a, "hatrpc-ring"), 60)
            with on_core(1):
                assert nodes_of_new_rings(nodes) == {0}


def workers_of_the_wanted_node_carry_the_calls():
    for wanted in (0, 1):
        hints = {"add": {"c_hint": {"numa": wanted}, "s_hint": {"numa": 1 - wanted}}}
        with two_nodes(manifest_with(hints)) as nodes:
            call_often(nodes)  # opens the links
            assert busy_worker(nodes.a, lambda: call_often(nodes)) == wanted
            assert busy_worker(nodes.b, lambda: call_often(nodes)) == 1 - wanted


def a_takeover_keeps_connections_on_the_wanted_node():
    with two_nodes(manifest_with({"add": {"c_hint": {"numa": 1}}})) as nodes, contextlib.ExitStack() as clients:
        opened = [clients.enter_context(Client(nodes, timeout_ms=60_000)) for _ in range(4)]

        def call_all():
            for calls in opened:
                for i in range(25):
                    assert calls.add(i, 1) == i + 1
        call_all()
        old = nodes.a.take_over()
        wait_until("the old hatrpcd has handed its connections over", lambda: old.poll() is not None, 60)
        assert old.returncode == 0, old.returncode
        assert "4 connection(s) came from it" in nodes.a.log()
        assert busy_worker(nodes.a, call_all) == 1


def a_node_without_workers_and_a_conflict_are_named():
    hints = {"add": {"hint": {"numa": 0}}, "echo": {"hint": {"numa": 1}}}
    with two_nodes(manifest_with(hints), keys_b={"worker_cores": 0}) as nodes:
        conflict = ("the functions of Probe share its connections, but want different nodes (0: Probe.add; "
                    "1: Probe.echo), and one worker carries all calls of a connection")
        for name, wanted in (("add", 0), ("echo", 1)):
            assert f"the hint numa: {wanted} is not honoured for the client side of {name}: {conflict}" in nodes.a.log()
        assert "numa: 1 is not honoured for the server side of echo: no worker runs on node 1" in nodes.b.log()
        assert "for the server side of add" not in nodes.b.log()
        with Client(nodes, timeout_ms=60_000) as calls:
            assert calls.add(4, 5) == 9
    done = check({"worker_cores": "nic"})
    assert done.returncode == 78 and "this host has no RDMA device mlx5_0" in done.stderr, done


def check(keys):
    with tempfile.TemporaryDirectory(prefix="hatrpc-lab-") as folder:
        file = pathlib.Path(folder) / "hatrpcd.yaml"
        config = {"node": "a", "fabric": {"kind": "verbs", "device": "mlx5_0"}, **keys}
        file.write_text(json.dumps(config), encoding="utf-8")
        return subprocess.run([PROGRAMS / "hatrpcd", "--check", "--config", file], capture_output=True, text=True,
                              check=False, timeout=120)


run_cases("Numa", (the_machine_has_two_nodes, workers_are_bound_to_their_cores,
                   registered_memory_is_on_the_workers_node, rings_are_on_the_node_of_the_hint,
                   workers_of_the_wanted_node_carry_the_calls, a_takeover_keeps_connections_on_the_wanted_node,
                   a_node_without_workers_and_a_conflict_are_named))
