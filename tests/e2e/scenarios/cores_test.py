# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/cores_test.py: workers that are bound to cores, plans that depend on cores, and the hints that
hatrpcd warns of.

tests/lab/numa_test.py tests the NUMA nodes of hosts that have several.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from setting import PROGRAMS, Client, Scenario, main, manifest_with, probe_nodes
from nodes import ask, wait_until

CORES = sorted(os.sched_getaffinity(0))
ONE_NODE = len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"))) <= 1


def cores_of_threads(node):
    """Returns the list of cores of each thread of the node's hatrpcd, by the thread's name."""
    cores = {}
    for task in pathlib.Path(f"/proc/{node.process.pid}/task").iterdir():
        status = dict(line.split(":\t", 1) for line in (task / "status").read_text(encoding="utf-8").splitlines())
        cores.setdefault(status["Name"], set()).add(status["Cpus_allowed_list"])
    return cores


def routes_of(node):
    return {function["method"]: function for service in node.get("/routes")["services"]
            for function in service["functions"] if service["service"] == "Probe"}


class Binding(Scenario):
    def test_workers_run_on_the_listed_cores(self):
        last = CORES[-1]
        with probe_nodes(keys={"host-a": {"worker_cores": last},
                               "host-b": {"worker_cores": "nic" if ONE_NODE else "auto", "workers": 2}}) as nodes, \
             Client(nodes) as calls:
            self.assertEqual(calls.add(20, 3), 23)
            self.assertEqual(cores_of_threads(nodes.a)["worker-0"], {str(last)})
            main_thread = cores_of_threads(nodes.a)["hatrpcd"]
            self.assertEqual(main_thread, cores_of_threads(nodes.b)["hatrpcd"], "only workers are bound")
            status = nodes.a.get("/status")
            self.assertEqual([one["cores"] for one in status["worker_placement"]], [str(last)])
            self.assertEqual(status["workers"], 1)
            self.assertIn(f"worker 0 is bound to core {last}", nodes.a.log())
            shown = subprocess.run([PROGRAMS / "hatctl", "--socket", nodes.a.admin, "status"], check=True,
                                   capture_output=True, text=True).stdout
            self.assertRegex(shown, rf"WORKER +CORES +NUMA NODE\n +0 +{last} +\d")

    def test_each_worker_has_a_core_of_its_own_if_there_are_enough(self):
        listed = CORES[:2]
        with probe_nodes(keys={"host-a": {"worker_cores": listed}}) as nodes, Client(nodes) as calls:
            self.assertEqual(calls.add(20, 3), 23)
            threads = cores_of_threads(nodes.a)
            self.assertEqual([threads[f"worker-{i}"] for i in range(len(listed))], [{str(core)} for core in listed])

    def test_a_core_that_hatrpcd_cannot_use_is_refused(self):
        allowed = CORES[0]
        with tempfile.TemporaryDirectory(prefix="hatrpc-e2e-") as folder:
            file = pathlib.Path(folder) / "hatrpcd.yaml"
            for cores, reason in ((8191, "this host has no core 8191 that is online"),
                                  (CORES[-1] if len(CORES) > 1 else 8191, "core")):
                file.write_text(json.dumps({"node": "a", "fabric": "tcp", "worker_cores": cores}), encoding="utf-8")
                for option in (["--check"], []):
                    done = subprocess.run(["taskset", "-c", str(allowed), PROGRAMS / "hatrpcd", *option, "--config",
                                           file], capture_output=True, text=True, check=False, timeout=60)
                    self.assertEqual(done.returncode, 78, done.stderr)
                    self.assertRegex(done.stderr, rf":1:\d+: error: worker_cores: .*{reason}")
            if len(CORES) > 1:
                self.assertIn(f"hatrpcd may not run on core {CORES[-1]}, only on {allowed};", done.stderr)


class Plans(Scenario):
    @unittest.skipIf(len(CORES) < 2, "the hosts of the two nodes need different numbers of cores")
    def test_the_cores_of_the_servers_host_decide_how_replies_travel(self):
        hints = {"perf_goal": "throughput", "concurrency": 1, "payload_size": "128KiB"}
        latency = {"perf_goal": "latency", "concurrency": 1}  # has the same plan in the columns under and full
        with probe_nodes(manifest_text=manifest_with({"echo": hints, "add": latency})) as nodes:
            nodes.b.stop()
            nodes.b.start(before=("taskset", "-c", str(CORES[0])))
            with Client(nodes) as calls:
                def replies_use_rfp():
                    self.assertEqual(calls.echo(b"x"), b"x")
                    return "direct_write_imm / rfp" in [lane["protocol"] for link in nodes.a.get("/status")["links"]
                                                        for lane in link["lanes"] if lane["state"] == "up"]
                wait_until("a lane with rfp for replies is up", replies_use_rfp)
            here, there = routes_of(nodes.a)["echo"], routes_of(nodes.b)["echo"]["server"]
            self.assertEqual(here["server"]["plan"], "direct_write_imm, busy")
            self.assertEqual(there["plan"], "≤4KiB direct_write_imm, larger rfp; event")
            self.assertIn("column full (concurrency=1 is as many as the 1 core that hatrpcd may use)", there["reason"])
            self.assertEqual(here["reply_protocol"], "direct_write_imm")
            self.assertEqual(here["replies"], [{"peer": "host-b", "cores": 1, "nic_cores": 1, "protocol": "rfp"}])
            shown = subprocess.run([PROGRAMS / "hatctl", "--socket", nodes.a.admin, "routes", "Probe.echo"], text=True,
                                   capture_output=True, check=True).stdout
            self.assertIn(f"\nhost       {len(CORES)} cores\n", shown)
            self.assertIn("\n  replies  rfp, requested from host-b (1 core)\n", shown)
            self.assertNotIn("changes nothing", shown, "concurrency: 1 changes the replies")
            shown = subprocess.run([PROGRAMS / "hatctl", "--socket", nodes.a.admin, "routes", "Probe.add"], text=True,
                                   capture_output=True, check=True).stdout
            self.assertIn("The hint concurrency: 1 changes nothing in how hatrpcd carries the calls: it selects the "
                          "column under, which also applies without the hint.", " ".join(shown.split()))


class Hints(Scenario):
    def test_a_hint_that_is_not_honoured_is_shown_everywhere_with_its_reason(self):
        reason = "this host has no NUMA node 777 with cores"
        with probe_nodes(manifest_text=manifest_with({"add": {"numa": 777}}),
                         keys={"host-a": {"worker_cores": CORES[0]}, "host-b": {"worker_cores": CORES[0]}}) as nodes:
            check = subprocess.run([PROGRAMS / "hatrpcd", "--check", "--config", nodes.a.config], text=True,
                                   capture_output=True, check=True)
            for text in (check.stderr, nodes.a.log()):
                self.assertIn("warning: Probe: the hint numa: 777 is not honoured for the client side of add: " + reason,
                              text)
            self.assertIn("the hint numa: 777 is not honoured for the server side of add", nodes.b.log())
            numa = routes_of(nodes.a)["add"]["client"]["numa"]
            self.assertEqual((numa["hint"], numa["node"]), ("777", None))
            self.assertIn(reason, numa["not_honoured"])
            self.assertIsNone(routes_of(nodes.a)["echo"]["client"]["numa"])
            shown = subprocess.run([PROGRAMS / "hatctl", "--socket", nodes.a.admin, "routes", "Probe.add"], text=True,
                                   capture_output=True, check=True).stdout
            self.assertIn("numa: 777 is not honoured: " + reason, " ".join(shown.split()))

    def test_a_reload_resolves_the_hints_anew(self):
        with probe_nodes(manifest_text=manifest_with({}),
                         keys={"host-a": {"worker_cores": CORES[0]}}) as nodes, Client(nodes) as calls:
            self.assertEqual(calls.add(20, 3), 23)
            node = nodes.a.get("/status")["worker_placement"][0]["numa_node"]
            nodes.manifest.write_text(manifest_with({"add": {"numa": node}, "echo": {"numa": 999}}))
            status, body = ask(nodes.a.admin, "POST", "/reload")
            self.assertEqual(status, 200, body)
            warnings = "\n".join(json.loads(body)["warnings"])
            self.assertIn("the hint numa: 999 is not honoured for the client side of echo", warnings)
            self.assertNotIn("side of add", warnings)
            self.assertEqual(routes_of(nodes.a)["add"]["client"]["numa"],
                             {"hint": str(node), "node": node, "not_honoured": ""})
            self.assertEqual(calls.add(4, 5), 9, "the connection stays")
            with Client(nodes) as more:
                self.assertEqual(more.add(20, 3), 23)


if __name__ == "__main__":
    main()
