# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/learned_test.py: a service with `plan: learned`. While clients call, the daemon tries other
protocols. No call may fail, also while the load changes, and a reload must end the trials."""

import json
import subprocess
import time

import yaml

from setting import PROGRAMS, Callers, Client, Scenario, main, manifest, probe_nodes
from nodes import END_S, wait_until

CALLERS = 4
WAIT = 60  # seconds


def learned(source):
    whole = yaml.safe_load(manifest())
    whole["services"]["Probe"].setdefault("hint", {})["plan"] = source
    return yaml.safe_dump(whole)


def function(node, name):
    [found] = [one for service in node.get("/routes")["services"] if service["service"] == "Probe"
               for one in service["functions"] if one["method"] == name]
    return found


def trials(node):
    return sum(one["trials"] for one in function(node, "echo")["learned"])


def protocols(node):
    return {one["request_protocol"] for one in function(node, "echo")["carried"]}


class Echo:
    """Calls echo with messages of `size` bytes."""

    size = 64

    def __call__(self, calls, _):
        message = b"m" * self.size
        if calls.echo(message) != message:
            raise ValueError("a wrong reply")


class Learned(Scenario):
    def test_trials_lose_no_call_and_end_with_the_hint(self):
        echo = Echo()
        with probe_nodes(manifest_text=learned("learned")) as nodes, Callers(nodes, CALLERS, echo) as callers:
            # Trials of one choice go on until it is clearly better or worse, so their number alone does not tell how
            # many protocols carried calls.
            wait_until("12 trials", lambda: trials(nodes.a) >= 12, WAIT)
            wait_until("calls over 4 protocols", lambda: len(protocols(nodes.a)) >= 4, WAIT)
            before = trials(nodes.a)
            echo.size = 64 * 1024
            wait_until("12 trials with large messages", lambda: trials(nodes.a) >= before + 12, WAIT)

            for one in function(nodes.a, "echo")["learned"]:
                self.assertEqual(one["peer"], nodes.b.name)
                self.assertEqual(one["costs"][0]["choice"], one["choice"], one)
            text = subprocess.run([PROGRAMS / "hatctl", "--socket", nodes.a.admin, "routes", "Probe.echo"],
                                  capture_output=True, text=True, check=True, timeout=60).stdout
            self.assertIn("  learned  ", text)
            self.assertIn("measured (time between two calls, ±", text)
            self.assertEqual(function(nodes.b, "echo")["learned"], [], "the server's daemon does not learn")

            nodes.manifest.write_text(learned("hinted"))
            report = json.loads(subprocess.run(
                [PROGRAMS / "hatctl", "--socket", nodes.a.admin, "reload", "--json"], capture_output=True, text=True,
                check=True, timeout=60).stdout)
            self.assertTrue(any("Probe.echo: client: plan learned → hinted" in change for change in report["changes"]),
                            report)
            self.assertEqual(function(nodes.a, "echo")["learned"], [])
            calls = callers.calls
            time.sleep(0.5)
            self.assertGreater(callers.calls, calls)
            self.assertEqual(callers.errors, [])

    def test_the_choice_survives_a_restart_and_a_takeover(self):
        def contents(choices):
            return {"hatrpc_learned": 1, "node": "host-a", "choices": choices}

        with probe_nodes(manifest_text=learned("learned"), keys={"host-a": {"learned": "learned.yaml"}}) as nodes:
            file = nodes.a.folder / "learned.yaml"
            self.assertEqual(nodes.a.stop(), 0)
            self.assertEqual(yaml.safe_load(file.read_text()), contents({}))
            kept = {"Probe": {"echo": "tcp, event (throughput)"}}
            file.write_text(yaml.safe_dump(contents({"host-b": kept, "host-c": kept})))
            nodes.a.start()
            self.call_and_check_what_is_kept(nodes)
            old = nodes.a.take_over()
            self.assertEqual(yaml.safe_load(file.read_text()), contents({"host-b": kept}),
                             "the old daemon has written the file before the new one serves")
            self.assertEqual(old.wait(timeout=END_S), 0, nodes.a.log()[-2000:])
            self.call_and_check_what_is_kept(nodes)
            self.assertEqual(nodes.a.stop(), 0)
            self.assertEqual(yaml.safe_load(file.read_text()), contents({"host-b": kept}))

    def call_and_check_what_is_kept(self, nodes):
        with Client(nodes) as calls:
            for _ in range(5):  # too few for a trial
                self.assertEqual(calls.echo(b"kept"), b"kept")
        [one] = function(nodes.a, "echo")["learned"]
        self.assertEqual((one["choice"], one["kept"], one["changes"]), ("tcp, event", True, 0))
        self.assertEqual(protocols(nodes.a), {"tcp"})


if __name__ == "__main__":
    main()
