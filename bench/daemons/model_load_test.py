#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench/daemons/model_load_test.py: tests the program model_load.

usage: model_load_test.py PROGRAMS
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
SECONDS = 0.01
BENCH = pathlib.Path(__file__).resolve().parents[1]
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
LATENCY, EVENT = ("--hint", "perf_goal: latency"), ("--hint", "polling: event")


def run(*words):
    return subprocess.run([PROGRAMS / "model_load", *map(str, words)], capture_output=True, check=False, timeout=120,
                          text=True)


def compute(*words):
    done = run("--seconds", SECONDS, *words)
    if done.returncode != 0:
        raise AssertionError(f"{done.args}: {done.stderr}")
    return json.loads(done.stdout)


def calls_by_way(*words):
    return {(way["request"], way["reply"]): way["calls"] for way in compute(*words)["ways"]}


CLIENTS = (1, 4, 16, 64)
SETUPS = {"direct": ("--direct",), "TCP lanes": ("--link", "tcp"), "event": EVENT, "latency": LATENCY}


def calls_per_second(local, words, clients):
    return compute("--hardware", "two-core-vm", "--one-host", "--local", local, *words, "--clients", clients,
                   "--seconds", 0.1)["calls_per_second"]


def measured(rows, local, setup, clients):
    """Returns the median of the calls per second of 64 B in a published result."""
    direct = "direct, rings" if local == "ring" else "direct"
    peer = direct if setup == "direct" else f"hatrpcd, {setup}"
    return statistics.median(row["values"]["calls_per_s"] for row in rows
                             if row["peer"] == peer and row["point"] == {"bytes": 64, "clients": clients})


class ModelLoad(unittest.TestCase):
    def test_every_topology_obeys_littles_law(self):
        for hosts in (("--one-host",), ("--client-hosts", 2), ("--hardware", "two-core-vm", "--one-host")):
            ways = [("--local", local, *way) for local in ("socket", "ring")
                    for way in (("--link", "tcp"), LATENCY, EVENT)]
            for way in (("--direct",), *ways):
                for size in (64, 131072):
                    words = (*hosts, *way, "--bytes", size, "--clients", 5)
                    with self.subTest(words=words):
                        found = compute(*words)
                        self.assertGreaterEqual(found["calls"], 5)
                        mean = found["mean_us"] + found["think_us"]
                        self.assertAlmostEqual(5e6 / found["calls_per_second"] / mean, 1, delta=0.1)

    def test_a_ring_between_client_and_server_is_faster_than_a_socket(self):
        socket, ring = (compute("--direct", "--one-host", "--local", local)["p50_us"] for local in ("socket", "ring"))
        self.assertLess(ring, 0.5 * socket)

    def test_the_plan_decides_what_carries_the_calls(self):
        for protocol in ("direct_write_imm", "rfp", "write_rndv", "farm"):
            with self.subTest(protocol=protocol):
                ways = calls_by_way("--hint", f"protocol: {protocol}", "--clients", 4)
                self.assertGreater(ways[protocol, protocol], 0.9 * sum(ways.values()))
        self.assertEqual(list(calls_by_way("--link", "tcp")), [("tcp", "tcp")])
        self.assertEqual(calls_by_way("--direct"), {})

    def test_equal_runs_compute_equal_values(self):
        words = ("--clients", 20, "--client-hosts", 3, *EVENT)
        self.assertEqual(compute(*words), compute(*words))

    def test_polling_of_idle_cores_is_faster_and_uses_them(self):
        latency, event = compute(*LATENCY), compute(*EVENT)
        self.assertLess(latency["p50_us"], 0.5 * event["p50_us"])
        for found in (latency, event):
            used = sum(found[key] for key in ("client_cpu_us", "sidecar_cpu_us", "server_cpu_us"))
            self.assertLessEqual(used, 4.1 * found["mean_us"], "four threads work for the calls of one client")

    def test_calls_cannot_use_more_than_the_cores(self):
        found = compute("--hardware", "two-core-vm", "--one-host", "--clients", 64, *EVENT)
        used = sum(found[key] for key in ("client_cpu_us", "sidecar_cpu_us", "server_cpu_us"))
        self.assertLessEqual(used * found["calls_per_second"], 2.02e6)
        self.assertGreater(used * found["calls_per_second"], 1.9e6, "64 clients keep both cores busy")

    def test_workloads_call_their_functions_in_their_shares(self):
        for workload, shares in (("echo", {"echo": 1}), ("atb", {"latency": 0.5, "throughput": 0.5}),
                                 ("ycsb-a", {"get": 0.25, "put": 0.25, "multiget": 0.25, "multiput": 0.25}),
                                 ("ycsb-b", {"get": 0.475, "put": 0.025, "multiget": 0.475, "multiput": 0.025})):
            with self.subTest(workload=workload):
                found = compute("--workload", workload, "--clients", 100, "--client-hosts", 4)
                self.assertEqual(list(found["functions"]), list(shares))
                self.assertEqual(sum(one["calls"] for one in found["functions"].values()), found["calls"])
                for name, share in shares.items():
                    self.assertAlmostEqual(found["functions"][name]["calls"] / found["calls"], share, delta=0.02)
                    self.assertGreater(found["functions"][name]["calls"], 0)
        functions = compute("--workload", "atb", "--latency-percent", 100)["functions"]
        self.assertEqual(functions["throughput"]["calls"], 0)
        self.assertGreater(functions["latency"]["calls"], 0)

    def test_each_function_has_the_plan_of_its_own_hints(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "manifest.yaml"
            file.write_text("hatrpc_manifest: 1\nservices: {Atb: {functions: {latency: {hint: {protocol: rfp}}, "
                            "throughput: {hint: {protocol: write_rndv}}}}}\n", encoding="utf-8")
            for percent, protocol in ((100, "rfp"), (0, "write_rndv")):
                ways = calls_by_way("--workload", "atb", "--bytes", 512, "--clients", 8, "--manifest", file,
                                    "--latency-percent", percent)
                self.assertGreater(ways[protocol, protocol], 0.9 * sum(ways.values()))

    def test_messages_may_be_larger_than_the_window_of_a_connection(self):
        size = 524288
        for way in (("--direct",), ("--direct", "--one-host"), ("--local", "socket"), ("--local", "ring"), ("--link", "tcp")):
            with self.subTest(way=way):
                found = compute("--workload", "atb", "--bytes", size, *way)
                copies = 4 * size / 10e3  # both applications touch each byte of the call and of the reply
                self.assertGreater(found["p50_us"], copies)

    def test_experiments_compute_every_peer(self):
        for name, more in (("atb-latency", ("--bytes", "64,131072")), ("atb-mix", ("--bytes", "512", "--clients", "20")),
                           ("ycsb-a", ("--threads", "20", "--local", "shm"))):
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-m", "tool", "run", name, "--fabric", "model", "--seconds", SECONDS,
                           "--bin", PROGRAMS, "--out", folder, *more]
                done = subprocess.run(list(map(str, command)), cwd=BENCH, capture_output=True, check=False, text=True,
                                      timeout=120)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                [file] = pathlib.Path(folder).glob("*/result*.json")
                result = json.loads(file.read_text(encoding="utf-8"))
                self.assertEqual(sorted({row["peer"] for row in result["rows"]}), sorted(result["peers"]))
                self.assertEqual(len(result["peers"]), 7)
                for row in result["rows"]:
                    self.assertGreater(row["values"]["calls_per_s"], 0, row)
                    self.assertGreater(row["values"].get("as_planned", 1), 0.9, row)
                    self.assertGreater(row["values"].get("by_wanted", 100), 90, row)

    def test_the_table_in_the_docs_has_the_quotients_of_model_and_measurement(self):
        page = (DOCS / "model.md").read_text(encoding="utf-8")
        for local, result in (("socket", "echo"), ("ring", "echo-local-shm")):
            rows = json.loads((DOCS / "results" / f"{result}.json").read_text(encoding="utf-8"))["rows"]
            for setup, words in SETUPS.items():
                with self.subTest(local=local, setup=setup):
                    [line] = re.findall(rf"^\| {local}s \| {setup} \| (.+) \|$", page, re.MULTILINE)
                    for clients, shown in zip(CLIENTS, line.split(" | "), strict=True):
                        quotient = calls_per_second(local, words, clients) / measured(rows, local, setup, clients)
                        self.assertAlmostEqual(quotient, float(shown), delta=0.05, msg=f"{clients} clients")

    def test_refuses_wrong_options(self):
        for words in (("--local", "pipe"), ("--hardware", "none"), ("--bytes", "2000000"), ("--hint", "polling: often"),
                      ("--clients", "0"), ("word",), ("--direct", "--hint", "polling: busy"), ("--direct", "--local", "ring"),
                      ("--one-host", "--client-hosts", "2"), ("--workload", "echo", "--latency-percent", "50"),
                      ("--workload", "ycsb-a", "--bytes", "64"), ("--manifest", "/nowhere"),
                      ("--manifest", "/dev/null", "--hint", "polling: busy"),
                      ("--manifest", BENCH.parent / "kv" / "no-manifest.yaml")):
            with self.subTest(words=words):
                done = run(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertNotEqual(done.stderr, "")

    def test_shows_help(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("usage: model_load", done.stdout)


if __name__ == "__main__":
    unittest.main()
