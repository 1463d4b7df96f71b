# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/advise_test.py: calls functions whose hints are wrong, and others whose hints are right.
`hatctl advise` must find each wrong hint and no right one; once its changes are applied, it must find nothing."""

import json
import os
import subprocess
import unittest

import yaml

from setting import PROGRAMS, Callers, Client, Scenario, main, manifest, probe_nodes
from nodes import wait_until

CORES = 2  # the daemons run on so many cores, so that the number of callers that is too large is known
CALLERS = 6
CALLS = 250  # more than the calls that a rule needs
WAIT = 60  # seconds

# The wrong hints, by function, and the changes of the hint `key` in a group that correct each of them.
WRONG = {
    "add": {"c_hint": {"perf_goal": "latency", "payload_size": "64KiB"}},
    "produce": {"hint": {"perf_goal": "latency"}, "s_hint": {"payload_size": "512"}},
    "consume": {"hint": {"perf_goal": "latency"}},
    "echo": {"hint": {"perf_goal": "latency", "payload_size": "256KiB"}},
    "divide": {"hint": {"perf_goal": "latency", "protocol": "write_rndv"}},
    "echo_text": {"hint": {"perf_goal": "latency", "payload_size": "32KiB", "protocol": "eager"}},
    "slow": {"hint": {"perf_goal": "latency", "concurrency": "over", "timeout_ms": 500}},
    "count": {"hint": {"perf_goal": "throughput"}},
    "hurried": {"hint": {"perf_goal": "throughput", "concurrency": 1, "timeout_ms": 20_000}},
    "ping": {"hint": {"perf_goal": "latency", "polling": "busy"}},
}
FOUND_BY_SIZES = {("add", "payload_size"), ("produce", "payload_size"), ("consume", "payload_size"),
                  ("echo", "perf_goal"), ("divide", "protocol"), ("echo_text", "protocol")}
FOUND_BY_CLIENTS_NODE = FOUND_BY_SIZES | {
    ("slow", "concurrency"), ("slow", "timeout_ms"), ("count", "perf_goal"), ("hurried", "concurrency"),
    ("ping", "polling")}
# The server's node does not know how many callers the client's host has, and only clients have a time-out.
FOUND_BY_SERVERS_NODE = FOUND_BY_CLIENTS_NODE - {("count", "perf_goal"), ("slow", "timeout_ms")}
RIGHT = {
    "note": {"hint": {"perf_goal": "res_util", "payload_size": "128B"}, "c_hint": {"concurrency": 1}},
}


def planted():
    """Returns the text of a manifest with the hints of WRONG and RIGHT."""
    whole = yaml.safe_load(manifest())
    for name, hints in (WRONG | RIGHT).items():
        function = whole["services"]["Probe"]["functions"][name]
        for group in ("hint", "c_hint", "s_hint"):
            function.pop(group, None)
        function.update(hints)
    return yaml.safe_dump(whole)


def proposals(node):
    """Returns the node's proposals as (function, key)."""
    return {(one["function"], change["key"])
            for one in node.get("/advice")["proposals"] for change in one["changes"]}


def hatctl(node, *words):
    done = subprocess.run([PROGRAMS / "hatctl", "--socket", node.admin, *words], capture_output=True, text=True,
                          check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


class Advise(Scenario):
    @classmethod
    def setUpClass(cls):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < CORES:
            raise unittest.SkipTest(f"this machine has fewer than {CORES} cores")
        os.sched_setaffinity(0, cores[:CORES])  # the daemons inherit it
        cls.addClassCleanup(os.sched_setaffinity, 0, cores)

    def call_in_turn(self, nodes):
        """Calls the functions that are judged by the sizes of their messages."""
        with Client(nodes) as calls:
            for number in range(CALLS):
                calls.add(number, 1)
                calls.produce(30_000)
                calls.consume(b"c" * 30_000)
                calls.echo(b"e" * 200_000)
                calls.divide(number, 1)
                calls.echo_text("t" * 30_000)
                calls.note("somebody")

    def call_until(self, nodes, count, call, what, holds):
        with Callers(nodes, count, call, "deadline_exceeded") as callers:
            try:
                wait_until(what, holds, WAIT)
            except AssertionError:
                for node in (nodes.a, nodes.b):
                    print(node.name, json.dumps(node.get("/advice")), json.dumps(node.get("/functions?called=1")))
                raise
        self.assertEqual(callers.errors, [])

    def test_finds_wrong_hints_and_corrects_them(self):
        with probe_nodes(manifest_text=planted()) as nodes:
            self.call_in_turn(nodes)
            both = (nodes.a, nodes.b)
            self.call_until(nodes, 1, lambda calls, _: calls.count("nobody"), "count's goal is judged",
                            lambda: ("count", "perf_goal") in proposals(nodes.a))
            # One call of eight takes longer than timeout_ms permits.
            self.call_until(nodes, 1, lambda calls, number: calls.slow(1000 if number % 8 == 0 else 5),
                            "slow's callers and time-out are judged",
                            lambda: all(("slow", "concurrency") in proposals(node) for node in both)
                            and ("slow", "timeout_ms") in proposals(nodes.a))
            with Callers(nodes, CALLERS, lambda calls, _: calls.hurried(20), "deadline_exceeded") as occupying:
                self.call_until(nodes, 1, lambda calls, _: calls.ping(), "the callers of an occupied host are judged",
                                lambda: all({("hurried", "concurrency"), ("ping", "polling")} <= proposals(node)
                                            for node in both))
            self.assertEqual(occupying.errors, [])
            self.assertEqual(proposals(nodes.a), FOUND_BY_CLIENTS_NODE)
            self.assertEqual(proposals(nodes.b), FOUND_BY_SERVERS_NODE)
            self.check_command(nodes)

    def check_command(self, nodes):
        before = nodes.manifest.read_text()
        status, text, error = hatctl(nodes.a, "advise", "Probe.add")
        self.assertEqual((status, error), (0, ""), text)
        self.assertIn("payload_size", text)
        self.assertNotIn("Probe.echo", text)
        self.assertEqual(nodes.manifest.read_text(), before, "without --apply nothing changes")
        for node in (nodes.a, nodes.b):  # both use the same file
            self.assertEqual(hatctl(node, "reload")[0], 0)
            status, text, error = hatctl(node, "advise", "--apply")
            self.assertEqual(status, 0, text + error)
        self.assertEqual(hatctl(nodes.a, "reload")[0], 0)
        for node in (nodes.a, nodes.b):
            self.assertEqual(proposals(node), set(), node.name)
            self.assertIn("no change is proposed", hatctl(node, "advise")[1])
        after = yaml.safe_load(nodes.manifest.read_text())["services"]["Probe"]["functions"]
        for name, hints in RIGHT.items():
            self.assertEqual({group: after[name].get(group) for group in hints}, hints, name)
        self.assertNotIn("protocol", after["divide"]["hint"])
        self.call_in_turn(nodes)
        self.assertEqual(proposals(nodes.a) | proposals(nodes.b), set(), "the same calls, with the new hints")


if __name__ == "__main__":
    main()
