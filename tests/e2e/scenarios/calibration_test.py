# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/calibration_test.py: `hatctl calibrate` measures and writes a profile, and plans follow it."""

import json
import signal
import subprocess

from setting import PROGRAMS, Client, Scenario, main, probe_nodes, start_server
from nodes import TwoNodes, ask, hatrpc_address, wait_until
from reload_test import Load

WAIT_S = 90
SIZES = "{8: 100, 16384: 3000, 65536: 12000}"
# Costs by which CHEAP_PLAN replaces the plan hybrid_eager_rndv for 16 KiB.
CHEAP_WRITES = ("hatrpc_profile: 1\nfabric: loop\ncosts_ns:\n"
                f"  put: {SIZES}\n  get: {SIZES}\n  copy: {SIZES}\n"
                "  message: {8: 4000, 65536: 30000}\n  wake_up: 5000\n")
CHEAP_PLAN = "≤32KiB direct_write_imm, larger write_rndv; adaptive"


def hatctl(node, *words):
    return subprocess.run([PROGRAMS / "hatctl", "--socket", node.admin, *words], text=True,
                          capture_output=True, timeout=WAIT_S, check=False)


def function(node, method="add"):
    return next(function for service in node.get("/routes")["services"]
                for function in service["functions"] if function["method"] == method)


def plan(node):
    return function(node)["client"]


class ProfiledNodes(TwoNodes):
    """Two nodes; host-a's configuration names a profile file that does not exist yet: its own, or that of host-b."""

    def __init__(self, upstream, hints, of_peer=False, **more):
        text = ("hatrpc_manifest: 1\nservices:\n  Probe:\n    functions:\n"
                f"      add: {{hint: {{{hints}}}}}\n")
        super().__init__(PROGRAMS, text, {"Probe": upstream}, **more)
        self.profile = self.folder / "measured.yaml"
        config = json.loads(self.a.config.read_text())
        (config["peers"]["host-b"] if of_peer else config)["profile"] = "../measured.yaml"
        self.a.config.write_text(json.dumps(config))


class Calibration(Scenario):
    def setUp(self):
        self.server = start_server()
        self.upstream = hatrpc_address(self.server.addresses[0])

    def tearDown(self):
        self.server.stop()

    def test_a_profile_is_measured_written_and_used_while_calls_go_on(self):
        hints = "perf_goal: res_util, payload_size: 16KiB"
        with ProfiledNodes(self.upstream, hints, fabric="loop") as nodes:
            self.assertRegex(nodes.a.log(), "profile: there is no .*measured.yaml yet")
            self.assertNotIn("measured", plan(nodes.a)["reason"])
            load = Load(nodes, clients=2)
            try:
                done = hatctl(nodes.a, "calibrate", "host-b", "--write", str(nodes.profile))
            finally:
                load.end()
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("with host-b, ", done.stdout)
            self.assertRegex(done.stdout, r"SIZE +PUT +GET +MESSAGE +COPY +REGISTRATION +CALL, PUSHED +CALL, FETCHED\n")
            self.assertRegex(done.stdout, r"\nwake-up [\d.]+ ")
            self.assertNotIn("calls were not measured", done.stdout)
            self.assertEqual(load.failed, [])
            self.assertGreater(load.calls, 0)

            text = nodes.profile.read_text()
            for line in ("hatrpc_profile: 1", "node: host-a", "peer: host-b", "fabric: loop"):
                self.assertIn(f"\n{line}\n", text)
            for key in ("pushed_calls", "fetched_calls"):
                self.assertRegex(text, rf"\n  {key}: {{8192: \d+\.\d, 65536: \d+\.\d}}\n")
            self.assertEqual(ask(nodes.a.admin, "POST", "/reload")[0], 200)
            self.assertIn("; measured: a call of ", plan(nodes.a)["reason"])
            self.assertEqual(subprocess.run([PROGRAMS / "hatrpcd", "--check", "--quiet", "-c", nodes.a.config],
                                            timeout=WAIT_S, check=False).returncode, 0)
            with Client(nodes) as calls:
                self.assertEqual(calls.add(3, 4), 7)
            self.assertIn("a peer has calibrated with this node", nodes.b.log())
            report = json.loads(hatctl(nodes.a, "doctor", "--config", nodes.a.config, "--json").stdout)
            self.assertEqual([(found["verdict"], found["text"].split(", 20")[0]) for found in report["findings"]
                              if found["check"] == "profile"], [("ok", "costs of loop to the peer host-b")])

    def test_a_changed_profile_changes_a_plan_and_a_bad_one_nothing(self):
        hints = "payload_size: 16KiB"
        with ProfiledNodes(self.upstream, hints, fabric="loop") as nodes:
            before = plan(nodes.a)["plan"]
            self.assertEqual(before, "hybrid_eager_rndv, adaptive")
            nodes.profile.write_text(CHEAP_WRITES)
            changed = hatctl(nodes.a, "reload")
            self.assertEqual((changed.returncode, changed.stderr), (0, ""))
            after = CHEAP_PLAN
            self.assertEqual(plan(nodes.a)["plan"], after)
            # The profile is applied either by this reload or, if that was earlier, by the daemon's file watcher.
            self.assertIn(f"Probe.add: client: {before} → {after}", changed.stdout + nodes.a.log())
            with Client(nodes) as calls:
                self.assertEqual(calls.add(3, 4), 7)
            explained = subprocess.run(
                [PROGRAMS / "hintgen", "--explain", "--side", "client", "--profile", nodes.profile,
                 self.idl(nodes)], text=True, capture_output=True, timeout=WAIT_S, check=True).stdout
            self.assertIn(plan(nodes.a)["reason"].partition("; measured")[2], explained)

            nodes.profile.write_text(CHEAP_WRITES.replace("wake_up: 5000", "wake_up: often"))
            status, body = ask(nodes.a.admin, "POST", "/reload")
            self.assertEqual(status, 409)
            self.assertRegex(body, r"measured\.yaml:8:12: error: wake_up: 'often'")
            self.assertEqual(plan(nodes.a)["plan"], after)
            nodes.profile.write_text(CHEAP_WRITES.replace("fabric: loop", "fabric: verbs"))
            status, body = ask(nodes.a.admin, "POST", "/reload")
            self.assertEqual(status, 200)
            self.assertIn("the costs of fabric verbs are not used, because this node's fabric is loop", body)
            self.assertEqual(plan(nodes.a)["plan"], before)

    def test_the_profile_of_a_peer_counts_for_calls_to_it(self):
        with ProfiledNodes(self.upstream, "payload_size: 16KiB", of_peer=True, fabric="loop") as nodes:
            self.assertRegex(nodes.a.log(), "profile: there is no .*measured.yaml yet.*`hatctl calibrate host-b ")
            nodes.profile.write_text(CHEAP_WRITES.replace("fabric: loop", "peer: host-c\nfabric: loop"))
            wait_until("the daemon has noticed the profile", lambda: function(nodes.a)["client_to"], WAIT_S)
            self.assertIn("measured.yaml was measured with the peer host-c; `hatctl calibrate host-b ", nodes.a.log())
            route = hatctl(nodes.a, "routes", "Probe.add").stdout
            self.assertIn("  both     hybrid_eager_rndv, adaptive\n", route)
            self.assertIn(f"  to host-b {CHEAP_PLAN}\n", route)
            with Client(nodes) as calls:
                self.assertEqual(calls.add(1, 2), 3)
                wait_until("the lane carries a call", lambda: calls.add(3, 4) and any(
                    way["request_protocol"] == "direct_write_imm" for way in function(nodes.a)["carried"]), WAIT_S)
            self.assertEqual({way["request_protocol"] for way in function(nodes.a)["carried"]},
                             {"tcp", "direct_write_imm"})
            nodes.profile.write_text(CHEAP_WRITES.replace("fabric: loop", "fabric: verbs"))
            status, body = ask(nodes.a.admin, "POST", "/reload")
            self.assertEqual(status, 200)
            self.assertRegex(body, "the costs of fabric verbs are not used.*`hatctl calibrate host-b ")
            self.assertEqual(function(nodes.a)["client_to"], {})

    def idl(self, nodes):
        file = nodes.folder / "probe.thrift"
        file.write_text("service Probe { i32 add(1: i32 a) ( hat.payload_size = \"16KiB\" ) }")
        return file

    def test_who_cannot_be_measured_with_is_refused_with_a_reason(self):
        with probe_nodes(self.server, fabric="loop", fabric_b="tcp") as nodes:
            for node, peer, words in ((nodes.a, "host-b", "peer host-b has no RDMA fabric"),
                                      (nodes.a, "host-a", "a node cannot calibrate with itself"),
                                      (nodes.a, "host-c", r"no peer is called 'host-c' \(did you mean"),
                                      (nodes.b, "host-a", "no peer is called 'host-a'")):
                done = hatctl(node, "calibrate", peer)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertRegex(done.stderr, f"hatctl: cannot calibrate with {peer}: .*{words}")
        with probe_nodes(self.server, fabric="tcp") as nodes:
            done = hatctl(nodes.a, "calibrate", "host-b")
            self.assertEqual(done.returncode, 1)
            self.assertIn("this node has no RDMA fabric (the configuration says tcp)", done.stderr)

    def test_a_peer_that_a_rule_keeps_from_something_is_refused(self):
        text = 'hatrpc_manifest: 1\nservices:\n  Probe:\n    allow: ["spiffe://hatrpc.test/host-c"]\n'
        with TwoNodes(PROGRAMS, text, {"Probe": self.upstream}, fabric="loop") as nodes:
            done = hatctl(nodes.a, "calibrate", "host-b")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("a rule (`allow`) of node host-b restricts this node, "
                          "so it may not calibrate", done.stderr)
            manifest = next((nodes.folder / "manifests").glob("*.yaml"))
            manifest.write_text(text + "    allow_mode: dry_run\n")
            self.assertEqual(ask(nodes.b.admin, "POST", "/reload")[0], 200)
            self.assertEqual(hatctl(nodes.a, "calibrate", "host-b").returncode, 0)

    def test_one_at_a_time_and_a_peer_that_dies_ends_it(self):
        with probe_nodes(self.server, fabric="loop") as nodes:
            self.assertEqual(ask(nodes.a.admin, "POST", "/calibrate?peer=host-b")[0], 202)
            status, body = ask(nodes.a.admin, "POST", "/calibrate?peer=host-b")
            self.assertEqual(status, 409)
            self.assertIn("another calibration is running at node host-a", body)
            nodes.b.stop(signal.SIGKILL)
            wait_until("the calibration has ended",
                       lambda: nodes.a.get("/calibration")["state"] == "failed", WAIT_S)
            self.assertNotEqual(nodes.a.get("/calibration")["error"], "")
            nodes.b.start()
            wait_until("the link is up again",
                       lambda: nodes.a.get("/status")["links"][0]["up"], WAIT_S)
            done = hatctl(nodes.a, "calibrate", "host-b", "--json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertGreater(json.loads(done.stdout)["costs"]["put"][0]["ns"], 0)

    def test_daemons_that_leave_do_not_wait_for_it(self):
        for leaves in ("a", "b"):
            with probe_nodes(self.server, fabric="loop") as nodes:
                self.assertEqual(ask(nodes.a.admin, "POST", "/calibrate?peer=host-b")[0], 202)
                self.assertEqual(getattr(nodes, leaves).stop(seconds=WAIT_S), 0)


if __name__ == "__main__":
    main()
