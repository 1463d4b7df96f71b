# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/access_log_test.py: the lines of the access log, its rotation, and a file that takes no line."""

import itertools
import json
import pathlib
import re
import subprocess
import tempfile

from fleet import LINK_PORT, Fleet, add, main_in_a_network_namespace
from setting import PROGRAMS, Callers, Client, edit
from slow_probe import SlowProbe
from nodes import END_S, ask, wait_until

PORTS = itertools.count(9190)  # of the servers, which run until the process ends
PARTS = ("waited_us", "wire_us", "peer_us", "server_us", "reply_us")


class AccessLog(Fleet):
    def start(self, **log):
        port = next(PORTS)
        self.probe = SlowProbe(port)
        self.start_peer(2, upstream=f"tcp:127.0.0.1:{port}")
        self.path = self.folder / "access.jsonl"
        return self.start_client({"host-2": {"link": f"tcp:127.0.0.2:{LINK_PORT}"}},
                                 access_log={"path": str(self.path), **log})

    def lines(self, path=None):
        # Without the last line if the daemon has written only a part of it yet. A line can be empty after a takeover.
        text = (path or self.path).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n")[:-1] if line]

    def metric(self, node, series):
        status, page = ask(node.admin, "GET", "/metrics")
        self.assertEqual(status, 200, page)
        return int(re.search(rf"^{re.escape(series)} (\d+)$", page, re.MULTILINE)[1])

    def lost(self, node):
        return self.metric(node, 'hatrpc_access_log_dropped_total{reason="write_failed"}')

    def assert_none_dropped(self, node):
        for reason in ("queue_full", "rate", "write_failed"):
            self.assertEqual(self.metric(node, f'hatrpc_access_log_dropped_total{{reason="{reason}"}}'), 0, reason)

    def reload(self, node, change):
        edit(node, change)
        status, body = ask(node.admin, "POST", "/reload")
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def test_a_sample_and_each_slow_call_have_a_line(self):
        client = self.start(sample_one_in=10, slower_than="100ms")
        with Callers(self.nodes, 4, add) as load:
            wait_until("calls were made", lambda: load.calls > 2000, 60)
        self.assertEqual(load.errors, [])
        self.probe.seconds = 0.15
        with Client(self.nodes) as calls:
            for number in range(1, 6):
                add(calls, number)
        client.stop()
        lines = self.lines()
        slow = [line for line in lines if line["took_us"] > 100_000 and line["server_us"] > 100_000]
        self.assertGreaterEqual(len(slow), 5)
        sampled = sum(line["logged"] == "sampled" for line in lines)
        self.assertTrue(0.05 * load.calls < sampled < 0.2 * load.calls, f"{sampled} of {load.calls}")
        for line in lines:
            self.assertRegex(line["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
            self.assertIn(line["logged"], ("sampled", "slow"))
            self.assertTrue(line["logged"] == "sampled" or line["took_us"] > 100_000, line)
            self.assertEqual((line["service"], line["method"], line["peer"], line["outcome"], line["reason"]),
                             ("Probe", "add", "host-2", "success", None))
            self.assertAlmostEqual(sum(line[part] for part in PARTS), line["took_us"], delta=1)

    def test_a_rotation_loses_no_line(self):
        client = self.start(sample_one_in=1)
        files = [self.path]
        with Callers(self.nodes, 2, add) as load:
            for number in range(1, 6):
                wait_until("the file has lines", lambda: self.path.exists() and self.path.stat().st_size, 30)
                files.append(self.path.with_suffix(f".{number}"))
                self.path.rename(files[-1])
        self.assertEqual(load.errors, [])
        self.assert_none_dropped(client)
        client.stop()
        self.assertEqual(sum(len(self.lines(file)) for file in files if file.exists()), load.calls)

    def test_a_takeover_loses_no_line(self):
        client = self.start(sample_one_in=1)
        with Callers(self.nodes, 2, add) as load:
            wait_until("calls were made", lambda: load.calls > 100, 30)
            self.assert_none_dropped(client)
            old = client.take_over()
            self.assertEqual(old.wait(timeout=END_S), 0)
            before = load.calls
            wait_until("calls were made", lambda: load.calls > before + 100, 30)
        self.assertEqual(load.errors, [])
        self.assert_none_dropped(client)
        client.stop()
        self.assertEqual(len(self.lines()), load.calls)

    def test_a_file_that_takes_no_line_disturbs_no_call(self):
        client = self.start(sample_one_in=1)
        folder = self.folder / "missing"
        with Callers(self.nodes, 2, add) as load:
            for path in ("/dev/full", str(folder / "access.jsonl")):
                before = self.lost(client)
                report = self.reload(client, lambda config: config["access_log"].update(path=path))
                self.assertIn(f"→ {path}", "".join(report["changes"]))
                wait_until("lines are lost", lambda: self.lost(client) > before, 30)
                calls = load.calls
                wait_until("calls are made", lambda: load.calls > calls + 100, 30)
            folder.mkdir()
            wait_until("the file has lines", lambda: list(folder.iterdir()) and self.lines(folder / "access.jsonl"), 30)
            changes = self.reload(client, lambda config: config.pop("access_log"))["changes"]
            self.assertIn(f"access_log.path: {folder}/access.jsonl → none", changes)
            written = self.metric(client, "hatrpc_access_log_lines_total")
            calls = load.calls
            wait_until("calls are made", lambda: load.calls > calls + 100, 30)
            self.assertEqual(self.metric(client, "hatrpc_access_log_lines_total"), written)
        self.assertEqual(load.errors, [])
        self.assertIn("cannot write to /dev/full: No space left on device", client.log())

    def test_a_call_that_hatrpcd_answers_has_a_line(self):
        client = self.start(sample_one_in=0)
        with Client(self.nodes) as calls:
            add(calls, 1)
            self.reload(client, lambda config: config.update(limits={"max_message": "4KiB"}))
            self.assert_fails(lambda: calls.echo(b"x" * 8000), "too_large")
        client.stop()
        [line] = self.lines()
        self.assertEqual((line["logged"], line["method"], line["outcome"], line["reason"]),
                         ("failed", "echo", "local_error", "too_large"))

    def test_a_check_warns_of_a_path_that_is_not_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "hatrpcd.yaml"
            for path, warning in ((folder, f"{folder} is a folder"), (f"{folder}/a.jsonl", None),
                                  (f"{folder}/missing/a.jsonl", "missing: No such file or directory")):
                config.write_text(json.dumps({"node": "a", "fabric": "tcp", "access_log": {"path": path}}),
                                  encoding="utf-8")
                done = subprocess.run([PROGRAMS / "hatrpcd", "--check", "--config", config], capture_output=True,
                                      text=True, check=False, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                if warning:
                    self.assertRegex(done.stderr, f"warning: access_log.path: .*{warning}")
                else:
                    self.assertNotIn("access_log", done.stderr)


if __name__ == "__main__":
    main_in_a_network_namespace()
