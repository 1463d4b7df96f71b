#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench/daemons/model_echo_test.py: tests the program model_echo.

usage: model_echo_test.py PROGRAMS
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
SECONDS = 0.01
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
LATENCY, EVENT = ("--hint", "perf_goal: latency"), ("--hint", "polling: event")


def run(*words):
    return subprocess.run([PROGRAMS / "model_echo", *map(str, words)], capture_output=True, check=False, timeout=120,
                          text=True)


def compute(*words):
    done = run("--seconds", SECONDS, *words)
    if done.returncode != 0:
        raise AssertionError(f"{done.args}: {done.stderr}")
    return json.loads(done.stdout)


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


class ModelEcho(unittest.TestCase):
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
                carriers = compute("--hint", f"protocol: {protocol}", "--clients", 4)["carriers"]
                self.assertGreater(carriers[protocol], 0.9 * sum(carriers.values()))
        self.assertEqual(list(compute("--link", "tcp")["carriers"]), ["tcp"])
        self.assertEqual(compute("--direct")["carriers"], {})

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
        for words in (("--local", "pipe"), ("--hardware", "none"), ("--bytes", "300000"), ("--hint", "polling: often"),
                      ("--clients", "0"), ("word",), ("--direct", "--hint", "polling: busy"), ("--direct", "--local", "ring"),
                      ("--one-host", "--client-hosts", "2")):
            with self.subTest(words=words):
                done = run(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertNotEqual(done.stderr, "")

    def test_shows_help(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("usage: model_echo", done.stdout)


if __name__ == "__main__":
    unittest.main()
