# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/reload_test.py: changes manifests while calls run; no call may be lost."""

import signal
import threading
import time

from setting import Client, Scenario, main, probe_nodes
from nodes import ask, wait_until


class Load:
    """Clients that call add() until end(); `failed` has their errors."""

    def __init__(self, nodes, clients=4):
        self.calls, self.failed, self.slowest = 0, [], 0.0
        self.going = True
        self.threads = [threading.Thread(target=self.run, args=[nodes]) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, nodes):
        with Client(nodes) as calls:
            while self.going:
                began = time.monotonic()
                try:
                    if calls.add(self.calls % 1000, 1) is None:
                        self.failed.append("no answer")
                except Exception as error:  # any exception means that the call was lost
                    self.failed.append(repr(error))
                    return
                self.slowest = max(self.slowest, time.monotonic() - began)
                self.calls += 1

    def end(self):
        self.going = False
        for thread in self.threads:
            thread.join()


class Reload(Scenario):
    def reload(self, node):
        return ask(node.admin, "POST", "/reload")

    def test_fifty_reloads_under_load_lose_nothing(self):
        with probe_nodes() as nodes:
            good = nodes.manifest.read_text()
            load = Load(nodes)
            try:
                for i in range(50):
                    goal = ("latency", "throughput", "res_util")[i % 3]
                    nodes.manifest.write_text(good.replace("perf_goal: latency", f"perf_goal: {goal}"))
                    for node in (nodes.a, nodes.b):
                        status, body = self.reload(node)
                        self.assertEqual(status, 200, body)
            finally:
                load.end()
            self.assertEqual(load.failed, [])
            self.assertGreater(load.calls, 100)
            self.assertLess(load.slowest, 1.0)

    def test_a_bad_manifest_is_refused_with_its_place_and_changes_nothing(self):
        with probe_nodes() as nodes:
            good = nodes.manifest.read_text()
            def plans():  # only the plans, because the load changes the numbers of calls in the same answer
                return [{side: f[side]["plan"] for side in ("client", "server") if side in f}
                        for s in nodes.a.get("/routes")["services"] for f in s["functions"]]

            before = plans()
            load = Load(nodes, clients=2)
            try:
                nodes.manifest.write_text(good.replace("perf_goal: latency", "perf_goal: lightning"))
                status, body = self.reload(nodes.a)
                self.assertEqual(status, 409)
                self.assertRegex(body, r"probe\.yaml:\d+:\d+: error: perf_goal: 'lightning'")
                self.assertEqual(plans(), before)
                self.assertFalse(nodes.a.get("/status")["last_reload"]["successful"])
            finally:
                load.end()
            self.assertEqual(load.failed, [])
            nodes.manifest.write_text(good)
            self.assertEqual(self.reload(nodes.a)[0], 200)

    def test_sighup_and_a_changed_file_reload(self):
        with probe_nodes() as nodes:
            good = nodes.manifest.read_text()

            def plan():
                return next(f["client"]["plan"] for s in nodes.a.get("/routes")["services"]
                            for f in s["functions"] if f["method"] == "add")

            first = plan()
            nodes.manifest.write_text(good.replace("perf_goal: latency", "perf_goal: res_util"))
            nodes.a.process.send_signal(signal.SIGHUP)
            wait_until("SIGHUP has changed the plan", lambda: plan() != first)
            nodes.manifest.write_text(good)
            wait_until("the watch over the files has changed it back", lambda: plan() == first)


if __name__ == "__main__":
    main()
