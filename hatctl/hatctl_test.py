#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# hatctl/hatctl_test.py: runs every hatctl command against two daemons that carry calls.
"""usage: hatctl_test.py HATRPCD HATCTL

Node b serves Kv, with a small server in this process; node a has an endpoint for Kv. Both nodes use a
temporary folder and free ports, and end with the test.
"""
import json
import os
import pathlib
import re
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "base"))

from fake_adviser import FakeAdviser  # noqa: E402
from free_ports import free_ports  # noqa: E402

HATRPCD, HATCTL = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
WAIT_S = 20

MANIFEST = """\
hatrpc_manifest: 1
services:
  Kv:
    functions:
      get:
        hint: {perf_goal: latency, concurrency: 1}
      put: {}
"""


# Costs with which WRITEs are cheaper than messages.
OTHER_COSTS = """\
hatrpc_profile: 1
fabric: verbs
device: mlx5_0
measured: "2026-11-01T00:00:00Z"
costs_ns:
  put: {8: 100, 16384: 3000, 65536: 12000}
  get: {8: 100, 16384: 3000, 65536: 12000}
  message: {8: 4000, 65536: 30000}
  copy: {8: 10, 65536: 12000}
  wake_up: 5000
"""


def message(kind, name, sequence_id, body=b"\x00"):
    """Returns a framed message in strict binary protocol."""
    text = struct.pack(">HBBI", 0x8001, 0, kind, len(name)) + name + struct.pack(">i", sequence_id)
    return struct.pack(">I", len(text) + len(body)) + text + body


def read_exactly(stream, count):
    data = b""
    while len(data) < count:
        more = stream.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def read_frame(stream):
    return read_exactly(stream, struct.unpack(">I", read_exactly(stream, 4))[0])


class Server(socketserver.BaseRequestHandler):
    """A server that answers `get` with success, and every other function with an application exception."""

    def handle(self):
        try:
            while True:
                frame = read_frame(self.request)
                size = struct.unpack(">I", frame[4:8])[0]
                name = frame[8:8 + size]
                sequence_id = struct.unpack(">i", frame[8 + size:12 + size])[0]
                self.request.sendall(message(2 if name == b"get" else 3, name, sequence_id))
        except (EOFError, ConnectionError):
            pass


class ThreadingServer(socketserver.ThreadingTCPServer):
    daemon_threads = True


def advice(*changes, function="get"):
    """Returns advice with one proposal; each change is (group, key, from, to)."""
    return {"window_seconds": 840, "proposals": [
        {"service": "Kv", "function": function, "side": "client", "evidence": "what was seen", "gain": "what it gains",
         "changes": [dict(zip(("group", "key", "from", "to"), change)) for change in changes]}]}


def eventually(ask, what):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"after {WAIT_S} s still not: {what}")


class Node:
    def __init__(self, folder, config):
        self.folder = folder
        folder.mkdir()
        self.socket = folder / "admin.sock"
        self.manifest = folder / "manifest.yaml"
        self.manifest.write_text(MANIFEST)
        self.config = folder / "hatrpcd.yaml"
        self.config.write_text(
            f"node: {folder.name}\nmanifests: [manifest.yaml]\nworkers: 1\n"
            f"admin: {{socket: {self.socket}}}\n" + config)
        self.log = open(folder / "log", "w", encoding="utf-8")
        self.process = subprocess.Popen([HATRPCD, "-c", self.config.name], cwd=folder, stderr=self.log)

    def hatctl(self, *words, environment=None):
        return subprocess.run([HATCTL, "--socket", str(self.socket), *words], text=True,
                              capture_output=True, timeout=WAIT_S, check=False,
                              env={**os.environ, **(environment or {})})

    def answer(self, *words):
        done = self.hatctl(*words, "--json")
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()


class Hatctl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="hatctl-")
        cls.addClassCleanup(cls.temporary.cleanup)
        folder = pathlib.Path(cls.temporary.name)
        cls.server = ThreadingServer(("127.0.0.1", 0), Server)
        cls.addClassCleanup(cls.server.server_close)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.shutdown)
        link, cls.endpoint = free_ports(2)
        cls.b = Node(folder / "b", f"""\
link: {{listen: "tcp:127.0.0.1:{link}", insecure: true}}
serves:
  Kv: {{upstream: "tcp:127.0.0.1:{cls.server.server_address[1]}"}}
""")
        cls.addClassCleanup(cls.b.end)
        cls.a = Node(folder / "a", f"""\
link: {{insecure: true}}
peers:
  b: {{link: "tcp:127.0.0.1:{link}"}}
endpoints:
  - {{listen: "tcp:127.0.0.1:{cls.endpoint}", service: Kv, peers: [b]}}
""")
        cls.addClassCleanup(cls.a.end)
        for node in (cls.a, cls.b):
            eventually(lambda: node.hatctl("status").returncode == 0, "both nodes are ready")

    def call(self, name, stream=None):
        with socket.create_connection(("127.0.0.1", self.endpoint), WAIT_S) as stream:
            stream.sendall(message(1, name, 7))
            return read_frame(stream)[3]  # the reply's type

    def test_status(self):
        eventually(lambda: all(link["up"] for link in self.a.answer("status")["links"]),
                   "the link is up")
        status = self.a.hatctl("status")
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertRegex(status.stdout, r"node +a, ready")
        self.assertRegex(status.stdout, r"b +tcp:127\.0\.0\.1:\d+ +1/1")
        self.assertRegex(status.stdout, rf"tcp:127\.0\.0\.1:{self.endpoint} +Kv +b")
        self.assertRegex(self.b.hatctl("status").stdout, r"Kv +tcp:127\.0\.0\.1:\d+ +mirror")
        self.assertNotIn("\x1b", status.stdout, "output that does not go to a terminal must have no colours")
        self.assertEqual(self.a.answer("status")["pid"], self.a.process.pid)

    def test_certs(self):
        self.assertIn("links of this node have no TLS", self.a.hatctl("certs").stdout)
        self.assertEqual(self.a.answer("certs"), [])
        with tempfile.TemporaryDirectory() as folder:
            made = self.a.hatctl("certs", "make", folder, "n", "--trust-domain", "prod.example")
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(sorted(made.stdout.split()), sorted(map(str, pathlib.Path(folder).iterdir())))
            self.assertIn("not for production", made.stderr)
            wrong = self.a.hatctl("certs", "make", folder, "two words")
            self.assertEqual(wrong.returncode, 1)
            self.assertIn("'two words' is not a valid node name", wrong.stderr)

    def test_routes(self):
        text = self.a.hatctl("routes").stdout
        self.assertRegex(text, r"^fabric +(loop|verbs|none)[:,] ")
        self.assertRegex(text, r"Kv\.get\n  both +direct_write_imm, busy\n")
        self.assertIn("Kv._other", text)
        self.assertIn("perf_goal", text)
        for name in ("Kv.put", "put"):
            one = self.a.answer("routes", name)["services"]
            self.assertEqual([f["method"] for f in one[0]["functions"]], ["put"])
        wrong = self.a.hatctl("routes", "Kv.gte")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("'Kv.gte'", wrong.stderr)

    def test_top_counts_what_happens_between_two_looks(self):
        self.assertEqual(self.call(b"get"), 2)
        top = subprocess.Popen([HATCTL, "--socket", self.a.socket, "top", "--count", "2", "--json",
                                "--interval", "0.5"], text=True, stdout=subprocess.PIPE)
        end = time.monotonic() + 1.5
        while top.poll() is None and time.monotonic() < end:
            self.assertEqual(self.call(b"get"), 2)
            self.assertEqual(self.call(b"put"), 3)
        lines = top.communicate(timeout=WAIT_S)[0].splitlines()
        self.assertEqual((len(lines), top.returncode), (2, 0))
        last = json.loads(lines[1])
        busiest = last["functions"][:2]
        self.assertEqual({f["method"] for f in busiest}, {"get", "put"})
        for function in busiest:
            self.assertEqual(function["side"], "client")
            self.assertGreater(function["calls_per_s"], 0)
            self.assertGreater(function["request_bytes_per_s"], function["calls_per_s"])
            self.assertLess(0, function["p50_us"])
            self.assertLessEqual(function["p50_us"], function["p99_us"])
            all_fail = function["method"] == "put"
            self.assertEqual(function["errors_per_s"], function["calls_per_s"] if all_fail else 0)
        table = self.a.hatctl("top", "--once", "--interval", "0.1").stdout
        self.assertRegex(table, r"^FUNCTION +SIDE +CALLS/S")
        self.assertRegex(table, r"Kv\.get +client +0 +- +-")

    def test_top_fits_a_narrow_terminal(self):
        self.assertEqual(self.call(b"get"), 2)
        script = (f"stty cols 60 rows 24; "
                  f"{HATCTL} --socket {self.a.socket} top --once --interval 0.1")
        done = subprocess.run(["script", "-qec", script, "/dev/null"], text=True, timeout=WAIT_S,
                              capture_output=True, stdin=subprocess.DEVNULL, check=True,
                              env={**os.environ, "TERM": "xterm"})
        self.assertIn("FUNCTION", done.stdout)
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 60)

    def test_reload(self):
        def reload(hint, *words):
            self.a.manifest.write_text(MANIFEST.replace("perf_goal: latency", hint))
            return self.a.hatctl("reload", *words)

        self.addCleanup(reload, "perf_goal: latency")
        generation = self.a.answer("status")["generation"]
        dry = reload("perf_goal: throughput", "--dry-run")
        self.assertEqual(dry.returncode, 0, dry.stderr)
        self.assertIn(f"generation {generation} stays in use", dry.stdout)
        self.assertIn("Kv.get: client: direct_write_imm", dry.stdout)

        done = reload("perf_goal: res_util")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Kv.get: client: ", done.stdout)
        changed = self.a.answer("status")["generation"]
        self.assertGreater(changed, generation)

        refused = reload("perf_gaol: latency")
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertRegex(refused.stderr, r"manifest\.yaml:6:\d+: error: .*perf_gaol")
        report = self.a.hatctl("reload", "--json")
        self.assertEqual((report.returncode, json.loads(report.stdout)["ok"]), (1, False))
        status = self.a.hatctl("status").stdout
        self.assertIn("the last reload was refused:", status)
        self.assertEqual(self.a.answer("status")["generation"], changed, "the old routes must stay in use")
        self.assertEqual(self.call(b"get"), 2)
        self.assertRegex((self.a.folder / "log").read_text(encoding="utf-8"),
                         r"reload refused, the running configuration stays:\n.*perf_gaol")

        reason_only = reload("perf_goal: res_util, polling: event")
        self.assertEqual(reason_only.returncode, 0, reason_only.stderr)
        self.assertIn("unchanged; the reason is now: ", reason_only.stdout)

    def advised(self, proposed, *words, **answers):
        """Runs `hatctl advise` at a daemon a that gives this advice. Returns what hatctl did, and the requests."""
        adviser = FakeAdviser(self.a.folder, self.a.socket, {"GET /advice": (200, proposed), **answers})
        try:
            return self.a.hatctl("--socket", adviser.server_address, "advise", *words), adviser.requests
        finally:
            adviser.end()

    def write_manifest(self, text):
        self.a.manifest.write_text(text)
        self.assertEqual(self.a.hatctl("reload").returncode, 0)

    def test_advise_shows_what_the_daemon_proposes(self):
        change = advice(("hint", "perf_goal", "latency", "throughput"))
        shown, _ = self.advised(change)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("\n  write    hint: {perf_goal: throughput}  (now latency)\n", shown.stdout)
        self.assertIn("Kv.get", self.advised(change, "Kv.get")[0].stdout)
        other, _ = self.advised(change, "Kv.put")
        self.assertRegex(other.stdout, r"^no change is proposed: .* 14 min\n$")
        self.assertEqual(json.loads(self.advised(change, "--json")[0].stdout), change)
        wrong, _ = self.advised(change, "Kv.gte")
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertIn("'Kv.gte' (did you mean 'Kv.get'?)", wrong.stderr)
        older, _ = self.advised(change, **{"GET /advice": (404, "there is no /advice")})
        self.assertEqual(older.returncode, 1)
        self.assertIn("too old to advise", older.stderr)
        self.assertEqual(self.a.manifest.read_text(), MANIFEST)

    def test_slow_names_a_daemon_that_is_too_old(self):
        older = FakeAdviser(self.a.folder, self.a.socket, {"GET /slow": (404, "there is no /slow")})
        self.addCleanup(older.end)
        shown = self.a.hatctl("--socket", older.server_address, "slow")
        self.assertEqual((shown.returncode, shown.stdout), (1, ""))
        self.assertEqual(shown.stderr, "hatctl: this hatrpcd is too old to show slow calls: upgrade it\n")

    def test_explain_names_a_reload_that_has_removed_the_function(self):
        reloaded = FakeAdviser(self.a.folder, self.a.socket, {
            "GET /explain?service=Kv&function=get": (404, "there is no such service or function")})
        self.addCleanup(reloaded.end)
        shown = self.a.hatctl("--socket", reloaded.server_address, "explain", "Kv.get")
        self.assertEqual((shown.returncode, shown.stdout), (1, ""))
        self.assertEqual(shown.stderr, "hatctl: hatrpcd has no such function: a reload has just removed it; try again\n")

    def test_advise_apply_edits_the_manifest_and_reloads(self):
        self.addCleanup(self.write_manifest, MANIFEST)
        self.write_manifest(MANIFEST.replace("get:", "get:  # often"))
        change = advice(("hint", "perf_goal", "latency", "throughput"), ("hint", "concurrency", "1", None),
                        ("c_hint", "payload_size", None, "512"))
        done, requests = self.advised(change, "--apply")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(requests, ["GET /advice", "GET /ping", "POST /reload?dry_run=1", "POST /reload"])
        edited = """\
      get:  # often
        hint: {perf_goal: throughput}
        c_hint: {payload_size: 512}
      put: {}
"""
        self.assertTrue(self.a.manifest.read_text().endswith(edited), self.a.manifest.read_text())
        self.assertTrue(done.stdout.startswith(f"changed {self.a.manifest}\nreloaded: "), done.stdout)
        self.assertIn("\nnote: copy each changed manifest to the other nodes", done.stdout)
        self.assertNotIn("hintgen", done.stdout)
        get = self.a.answer("routes", "Kv.get")["services"][0]["functions"][0]
        self.assertIn("perf_goal=throughput", get["client"]["reason"])
        self.assertEqual(sorted(path.name for path in self.a.folder.glob(".*")), [])

        nothing, requests = self.advised({"window_seconds": 9, "proposals": []}, "--apply")
        self.assertEqual((nothing.returncode, requests), (0, ["GET /advice"]))
        self.assertIn("no change is proposed", nothing.stdout)

    def test_advise_apply_names_the_idl_of_a_manifest_that_hintgen_wrote(self):
        self.addCleanup(self.write_manifest, MANIFEST)
        self.write_manifest("# Written by hintgen.\nsource: kv.thrift\n" + MANIFEST)
        done, _ = self.advised(advice(("c_hint", "payload_size", None, "512"), function="put"), "--apply", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        applied = json.loads(done.stdout)["applied"]
        self.assertEqual(applied["files"], [str(self.a.manifest)])
        self.assertTrue(applied["reload"]["ok"])
        self.assertIn(f"hintgen wrote {self.a.manifest} from kv.thrift: change the hints of Kv.put there too",
                      applied["notes"][0])

    def test_advise_apply_restores_the_manifest_that_hatrpcd_wants_back(self):
        change = advice(("hint", "perf_goal", "latency", "throughput"))
        refusal = (409, {"ok": False, "error": "m.yaml:1:1: error: no"})
        refused, requests = self.advised(change, "--apply", **{"POST /reload": [refusal]})
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("hatrpcd refuses the edited manifests: m.yaml:1:1: error: no\nThe manifests are as before.",
                      refused.stderr)
        self.assertEqual(requests[-2:], ["POST /reload", "POST /reload"])
        self.assertEqual(self.a.manifest.read_text(), MANIFEST)

        before, requests = self.advised(change, "--apply", **{"POST /reload?dry_run=1": refusal})
        self.assertEqual(before.returncode, 1)
        self.assertIn("nothing was changed", before.stderr)
        self.assertNotIn("POST /reload", requests)
        self.assertEqual(self.a.manifest.read_text(), MANIFEST)

    def test_advise_apply_says_why_it_cannot_edit(self):
        change = advice(("hint", "perf_goal", "latency", "throughput"))
        elsewhere, _ = self.advised(change, "--apply", **{"GET /ping": (200, {"manifests": ["/nonexistent/m.yaml"]})})
        self.assertEqual(elsewhere.returncode, 1)
        self.assertIn("/nonexistent/m.yaml is a manifest of hatrpcd, but does not exist here", elsewhere.stderr)
        older, _ = self.advised(change, "--apply", **{"GET /ping": (200, {})})
        self.assertEqual(older.returncode, 1)
        self.assertIn("too old to name its manifests", older.stderr)
        unlisted, requests = self.advised(advice(("hint", "numa", None, "any"), function="del"), "--apply")
        self.assertEqual(unlisted.returncode, 1)
        self.assertIn("does not list the function 'Kv.del'", unlisted.stderr)
        self.assertNotIn("POST /reload", requests)
        self.assertEqual(self.a.manifest.read_text(), MANIFEST)

    def test_reloads_by_signal_and_when_a_manifest_changes(self):
        def generation():
            return self.b.answer("status")["generation"]

        before = generation()
        self.b.process.send_signal(signal.SIGHUP)
        eventually(lambda: generation() == before + 1, "SIGHUP reloads")
        changed = self.b.folder / "next.yaml"
        changed.write_text(MANIFEST.replace("perf_goal: latency", "perf_goal: throughput"))
        changed.rename(self.b.manifest)
        eventually(lambda: generation() == before + 2, "a changed file is read")
        get = self.b.answer("routes", "Kv.get")["services"][0]["functions"][0]
        self.assertIn("perf_goal=throughput", get["server"]["reason"])
        self.assertEqual(self.call(b"get"), 2)

    def test_ping_and_metrics(self):
        self.assertRegex(self.b.hatctl("ping").stdout, r"^node b, hatrpcd [\d.]+: answered in ")
        ping = self.b.answer("ping")
        self.assertTrue(ping["alive"])
        self.assertEqual(ping["manifests"], [str(self.b.manifest)])
        metrics = self.b.hatctl("metrics").stdout
        self.assertRegex(metrics, re.compile(r"^hatrpc_routes_generation \d+$", re.MULTILINE))

    def doctor(self, *words):
        """Runs the doctor with `fabric: tcp`, which needs no device; returns (exit status, findings by check)."""
        config = self.a.folder / "doctor.yaml"
        config.write_text(self.a.config.read_text() + "fabric: tcp\n")
        done = self.a.hatctl("doctor", "--config", str(config), *words, "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["ok"], done.returncode == 0)
        checks = {}
        for finding in report["findings"]:
            checks.setdefault(finding["check"], []).append(finding)
            self.assertEqual(finding["mend"] == "", finding["verdict"] == "ok", finding)
        return done.returncode, checks

    def test_doctor(self):
        eventually(lambda: all(link["up"] for link in self.a.answer("status")["links"]),
                   "the link is up")
        refused = "link: a connection was refused"
        before = (self.b.folder / "log").read_text(encoding="utf-8").count(refused)
        status, checks = self.doctor()
        failed = [one for found in checks.values() for one in found if one["verdict"] == "fail"]
        self.assertEqual((status, failed), (0, []))
        self.assertIn("node a, 1 peer, 1 endpoint", checks["configuration"][0]["text"])
        self.assertIn("node a, hatrpcd", checks["daemon"][0]["text"])
        self.assertIn("all calls use TCP", checks["fabric"][0]["text"])
        self.assertEqual([one["subject"] for one in checks["memlock"]],
                         ["hatctl", f"hatrpcd, pid {self.a.process.pid}"])
        self.assertIn("1 of 1 links up", checks["peers"][0]["text"])
        after = (self.b.folder / "log").read_text(encoding="utf-8").count(refused)
        self.assertEqual(after, before, "the doctor must not connect to a peer that has a link")
        text = self.a.hatctl("doctor", "--config", str(self.a.folder / "doctor.yaml")).stdout
        self.assertRegex(text, r"(?m)^OK    peers +b: tcp:127\.0\.0\.1:\d+: 1 of 1 links up$")
        self.assertRegex(text, r"\n\d+ ok, \d+ warnings?, 0 failures\n$")

    def test_doctor_judges_the_file_that_the_running_daemon_was_started_with(self):
        def configuration(*words):
            report = json.loads(self.a.hatctl("doctor", *words, "--json").stdout)
            (found,) = [one for one in report["findings"] if one["check"] == "configuration"]
            return report["config"], found["text"]

        path, text = configuration()
        self.assertEqual(path, str(self.a.config))
        self.assertRegex(text, rf"^node a, 1 peer, .*\(the file that the hatrpcd at {self.a.socket} runs with\)$")
        path, text = configuration("--config", str(self.b.config))
        self.assertEqual(path, str(self.b.config))
        self.assertRegex(text, r"^node b, .*\(named by --config\)$")
        path, text = configuration("--socket", str(self.a.folder / "nowhere.sock"))
        self.assertEqual(path, "/etc/hatrpc/hatrpcd.yaml")
        self.assertIn("(the default, because no hatrpcd answers at ", text)

    def test_doctor_without_a_daemon_tries_the_peers_itself(self):
        nowhere = self.a.folder / "nowhere.sock"
        status, checks = self.doctor("--socket", str(nowhere), "b")
        self.assertEqual((status, checks["daemon"][0]["verdict"]), (0, "warn"))
        self.assertIn("Start hatrpcd,", checks["daemon"][0]["text"])
        self.assertRegex(checks["peers"][0]["text"], r"answers, from 127\.0\.0\.1$")

    def test_doctor_names_what_is_wrong(self):
        config = self.a.folder / "wrong.yaml"
        text = self.a.config.read_text()
        config.write_text(re.sub(r"b: \{link: .*?\}", f'b: {{link: "tcp:127.0.0.1:{free_ports(1)[0]}"}}',
                                 text))
        nowhere = str(self.a.folder / "nowhere.sock")
        done = self.a.hatctl("doctor", "--config", str(config), "--socket", nowhere)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"FAIL  peers .*b: .*cannot be reached: Connection refused\n +ss -ltn")
        config.write_text(text + "fabrik: tcp\n")
        done = self.a.hatctl("doctor", "--config", str(config))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, rf"FAIL  configuration {config}:\d+:1: unknown key 'fabrik'")
        done = self.a.hatctl("doctor", "--config", str(self.a.config), "host-b")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no peer is called 'host-b'", done.stderr)

    def test_doctor_prints_nothing_beside_its_findings_if_a_peer_has_a_name(self):
        config = self.a.folder / "named.yaml"
        config.write_text(re.sub(r"b: \{link: .*?\}", 'b: {link: "tcp:localhost:1"}', self.a.config.read_text()))
        done = self.a.hatctl("doctor", "--config", str(config), "--socket", str(self.a.folder / "nowhere.sock"))
        self.assertRegex(done.stdout, r"(?m)^FAIL  peers +b: ")
        self.assertEqual(done.stderr, "")

    def test_doctor_judges_what_links_are_made_with(self):
        _, checks = self.doctor()
        self.assertIn("links are insecure", checks["security"][0]["text"])
        folder = self.a.folder / "judged"
        made = self.a.hatctl("certs", "make", str(folder), "a", "b")
        self.assertEqual(made.returncode, 0, made.stderr)
        config = self.a.folder / "tls.yaml"
        config.write_text('node: a\nfabric: tcp\npeers: {b: {link: "tcp:127.0.0.1:1"}}\n'
                          "link: {tls: {certificate: judged/a.pem, key: judged/a.key, ca: judged/ca.pem}}\n")

        def said():
            done = self.a.hatctl("doctor", "--config", str(config), "--json")
            findings = json.loads(done.stdout)["findings"]
            self.assertEqual([one["verdict"] for one in findings if one["check"] == "configuration"], ["ok"])
            return [(one["verdict"], one["subject"], one["text"]) for one in findings if one["check"] == "security"]

        own, authority = said()
        self.assertEqual(own[:2], ("ok", "certificate"))
        self.assertRegex(own[2], r"^a, spiffe://hatrpc\.test/a; valid for (29|30) d")
        self.assertEqual(authority[:2], ("ok", "ca"))
        (folder / "a.key").write_bytes((folder / "b.key").read_bytes())
        (wrong,) = said()
        self.assertEqual(wrong[0], "fail")
        self.assertIn("does not belong to certificate", wrong[2])

    def test_what_if_shows_the_plans_with_costs_of_other_hardware(self):
        profile = self.a.folder / "other.yaml"
        profile.write_text(OTHER_COSTS)
        answer = self.a.answer("what-if", str(profile))
        self.assertEqual((answer["config"], answer["profile"]), (str(self.a.config), str(profile)))
        config = self.a.folder / "tcp.yaml"
        config.write_text(self.a.config.read_text() + "fabric: tcp\n")
        answer = self.a.answer("what-if", str(profile), "--config", str(config), "--cores", "28", "--nic-cores", "14")
        self.assertEqual(answer["then"], {"cores": 28, "nic_cores": 14, "rdma": True})
        self.assertEqual((answer["now"]["rdma"], answer["functions"]), (False, 2))
        changes = {change["text"]: change["reason"] for change in answer["changes"]}
        put = "Kv.put: client: hybrid_eager_rndv, adaptive over tcp → "
        (text,) = [text for text in changes if text.startswith(put)]
        self.assertNotIn("over tcp", text.removeprefix(put))
        self.assertIn("measured: ", changes[text])
        text = self.a.hatctl("what-if", str(profile), "--config", str(config)).stdout
        self.assertRegex(text, rf"^now: .*, without RDMA; {config}\nthen: .*; costs of verbs, mlx5_0, 2026-11-01")
        self.assertRegex(text, r"\n\d+ changes \(2 listed functions, and the others of each service\)\n$")

    def test_what_if_says_which_file_is_wrong(self):
        profile = self.a.folder / "wrong.yaml"
        profile.write_text(OTHER_COSTS.replace("wake_up", "wake_op"))
        done = self.a.hatctl("what-if", str(profile))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, rf"^hatctl: {profile}:\d+:\d+: error: .*wake_op")
        profile.write_text(OTHER_COSTS)
        nothing = self.a.folder / "nothing.yaml"
        done = self.a.hatctl("what-if", str(profile), "--config", str(nothing))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"({nothing} is named by --config)", done.stderr)
        done = self.a.hatctl("what-if", str(profile), "--nic-cores", "60000")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("give --cores too", done.stderr)

    def test_the_socket_may_come_from_the_environment(self):
        done = subprocess.run([HATCTL, "ping"], text=True, capture_output=True, check=False,
                              env={**os.environ, "HATRPCD_SOCKET": str(self.b.socket)})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_says_that_nobody_is_there(self):
        nowhere = self.b.folder / "nowhere.sock"
        done = self.b.hatctl("--socket", str(nowhere), "status")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn(f"{nowhere}: there is no such socket. Start hatrpcd,", done.stderr)
        left_over = self.b.folder / "left-over.sock"
        with socket.socket(socket.AF_UNIX) as stream:
            stream.bind(str(left_over))
        done = self.b.hatctl("--socket", str(left_over), "reload")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no process listens", done.stderr)

    def test_wrong_usage(self):
        for words in (["restart"], [], ["top", "--interval", "0"], ["status", "--dry-run"]):
            done = self.b.hatctl(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("see `hatctl --help`", done.stderr)

    def test_zz_drain(self):  # its name makes it run last; it drains a node of its own, c
        c = Node(pathlib.Path(self.temporary.name) / "c", "")
        self.addCleanup(c.end)
        eventually(lambda: c.hatctl("ping").returncode == 0, "c answers")
        done = c.hatctl("drain")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("draining", done.stdout)
        self.assertEqual(c.process.wait(WAIT_S), 0)
        self.assertEqual(c.hatctl("ping").returncode, 3)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
