#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kv/hatkv_test.py: tests the program hatkv: server, commands, backup, metrics, shutdown.

usage: hatkv_test.py HATKV STUBS
"""

import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

from thrift.protocol import TBinaryProtocol, TCompactProtocol
from thrift.Thrift import TMessageType, TType
from thrift.transport import TTransport

from running import HATKV, Server, WAIT_S, client, hatkv
from hatkv.ttypes import NotFound, Pair, Range, Refused


KINDS = ("threaded", "threadpool", "nonblocking")


def multiput_of_too_many(protocol):
    """Returns a Thrift frame of about 30 bytes with a list that claims to have 2,000,000,000 pairs."""
    body = TTransport.TMemoryBuffer()
    out = protocol(body)
    out.writeMessageBegin("multiput", TMessageType.CALL, 1)
    out.writeStructBegin("args")
    out.writeFieldBegin("pairs", TType.LIST, 1)
    out.writeListBegin(TType.STRUCT, 0x7fffffff)
    return struct.pack(">I", len(body.getvalue())) + body.getvalue()


class Running(unittest.TestCase):
    """Starts one server for all tests of a class, with TCP, unix and ring addresses, and with metrics."""

    OPTIONS = []

    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory(prefix="hatkv-test-")
        cls.addClassCleanup(held.cleanup)
        cls.folder = pathlib.Path(held.name)
        cls.server = Server(
            cls.folder, "--metrics", "tcp:127.0.0.1:0", "--backups", str(cls.folder / "backups"),
            *cls.OPTIONS, listen=[f"unix:{cls.folder}/kv.sock", "tcp:127.0.0.1:0",
                                  f"shm:{cls.folder}/kv.ring"])
        cls.server.start()
        cls.addClassCleanup(cls.server.kill)
        cls.address = cls.server.addresses[0]

    def hatkv(self, *words, **more):
        return hatkv(*words, **{"address": self.address, **more})

    def metrics(self):
        url = re.search(r"metrics at (\S+)", self.server.log())[1]
        with urllib.request.urlopen(url, timeout=WAIT_S) as page:
            return dict(line.rsplit(" ", 1) for line in page.read().decode().splitlines()
                        if not line.startswith("#"))


class Commands(Running):
    def test_put_get_del_at_every_address(self):
        for address in self.server.addresses:
            with self.subTest(address):
                self.hatkv("put", "color", address, address=address)
                self.assertEqual(self.hatkv("get", "color", address=address), address.encode() + b"\n")
                self.hatkv("del", "color", address=address)
                self.assertEqual(self.hatkv("get", "color", address=address, expect=1),
                                 "hatkv: no such key: color\n")
        self.assertEqual(self.hatkv("del", "color", expect=1), "hatkv: no such key: color\n")

    def test_values_are_bytes(self):
        value = bytes(range(256)) * 100
        self.hatkv("put", "bytes", "-", stdin=value)
        self.assertEqual(self.hatkv("get", "--raw", "bytes"), value)

    def test_several_keys(self):
        for key in "xy":
            self.hatkv("put", key, key * 2)
        self.assertEqual(self.hatkv("get", "y", "x"), b"yy\nxx\n")
        self.assertEqual(self.hatkv("get", "x", "no", "y", expect=1), "hatkv: no such key: no\n")

    def test_what_is_scanned_can_be_loaded(self):
        odd = b"odd/\t\n\\\x00\xff"
        with client(self.server.socket) as calls:
            calls.multiput([Pair(odd + b"%d" % i, b"value\n%d" % i) for i in range(2500)])
        text = self.hatkv("scan", "odd/")
        self.assertEqual(text.count(b"\n"), 2500)
        self.assertTrue(text.startswith(b"odd/\\t\\n\\\\\\x00\xff0\tvalue\\n0\n"), text[:60])
        with tempfile.TemporaryDirectory(prefix="hatkv-copy-") as folder, Server(folder) as other:
            said = self.hatkv("load", "--file", "-", "--batch", "100", stdin=text,
                              address=other.addresses[0])
            self.assertRegex(said, rb"^loaded 2500 records, ")
            self.assertEqual(self.hatkv("scan", address=other.addresses[0]), text)

    def test_scan_is_bounded(self):
        for key in "abc":
            self.hatkv("put", f"s/{key}", key)
        self.assertEqual(self.hatkv("scan", "s/", "--limit", "2"), b"s/a\ta\ns/b\tb\n")
        self.assertEqual(self.hatkv("scan", "s/", "--keys", "--start", "s/b"), b"s/b\ns/c\n")
        self.assertEqual(self.hatkv("scan", "--start", "s/a", "--before", "s/b"), b"s/a\ta\n")

    def test_load_makes_records_up(self):
        self.hatkv("load", "--records", "995", "--prefix", "made", "--key-bytes", "10",
                   "--value-bytes", "20", "--clients", "3", "--batch", "50", "--quiet")
        lines = self.hatkv("scan", "made").splitlines()
        self.assertEqual(len(lines), 995)
        self.assertRegex(lines[-1], rb"^made000994\t[a-z]{20}$")
        self.assertEqual(len(set(line.split(b"\t")[1] for line in lines)), 995)

    def test_load_says_which_line_is_wrong(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"a\t1\nb 2\n")
            file.flush()
            said = self.hatkv("load", "--file", file.name, "--clients", "1", expect=1)
        self.assertIn(f"{file.name}:2: the line has no tab between key and value", said)

    def test_what_the_limits_allow_travels(self):
        value = os.urandom(1 << 20)
        for address in self.server.addresses:
            with self.subTest(address):
                largest = value * 8
                self.hatkv("put", "largest", "-", stdin=largest, address=address)
                self.assertEqual(self.hatkv("get", "--raw", "largest", address=address), largest)
        with client(self.server.socket) as calls:
            keys = [b"batch/%d" % number for number in range(11)]
            calls.multiput([Pair(key, value) for key in keys])
            self.assertEqual([one.value for one in calls.multiget(keys)], [value] * 11)
            self.assertEqual(len(calls.multiget([b"no"] * 10_000)), 10_000)

    def test_refusals_name_the_reason(self):
        self.assertEqual(self.hatkv("put", "k" * 512, "v", expect=1),
                         "hatkv: refused: the key has 512 bytes; keys have 1 to 511 bytes\n")
        self.assertIn("'../x' is not a valid backup name", self.hatkv("backup", "../x", expect=1))
        with client(self.server.socket) as calls:
            with self.assertRaises(Refused):
                calls.scan(Range(b"", b"", b""), -1)
            with self.assertRaisesRegex(Refused, "10001 keys"):
                calls.multiput([Pair(b"k", b"v")] * 10_001)
            with self.assertRaises(NotFound):
                calls.get(b"not there")
            calls.put(b"k", b"v")  # the connection still works
            self.assertEqual(len(calls.scan(Range(b"", b"", b""), 1).pairs), 1)

    def test_exit_statuses(self):
        self.assertIn("'fetch' is not a command (see hatkv --help)", self.hatkv("fetch", expect=2))
        self.assertIn("expected KEY... (see hatkv get --help)", self.hatkv("get", expect=2))
        nobody = f"unix:{self.folder}/nobody.sock"
        self.assertIn(f"cannot reach {nobody}", self.hatkv("stats", address=nobody, expect=3))

    def test_stats_and_metrics_count(self):
        before = self.metrics()
        for _ in range(3):
            self.hatkv("put", "counted", "v")
        self.hatkv("get", "no such key", expect=1)
        stats = json.loads(self.hatkv("stats", "--json"))
        after = self.metrics()

        def grew(name):
            return float(after[name]) - float(before[name])

        self.assertEqual(grew('hatkv_operations_total{operation="put",outcome="ok"}'), 3)
        self.assertEqual(grew('hatkv_operations_total{operation="get",outcome="not_found"}'), 1)
        self.assertEqual(grew('hatkv_operation_duration_seconds_count{operation="put"}'), 3)
        self.assertEqual(grew("hatkv_commit_writes_sum"), 3)
        self.assertEqual(grew("hatkv_syncs_total"), grew("hatkv_commit_writes_count"))
        self.assertEqual(stats["durability"], "sync")
        self.assertEqual(stats["operations"]["put"],
                         sum(float(after[f'hatkv_operations_total{{operation="put",outcome="{how}"}}'])
                             for how in ("ok", "not_found", "refused")))
        self.assertEqual(stats["records"], float(after["hatkv_records"]))
        self.assertIn("durability       sync\n", self.hatkv("stats").decode())

    def test_it_is_well_and_whoever_hangs_up_does_not_end_it(self):
        url = re.search(r"metrics at (\S+)metrics", self.server.log())[1] + "healthz"
        with urllib.request.urlopen(url, timeout=WAIT_S) as page:
            self.assertEqual((page.status, page.read()), (200, b"ok\n"))
        status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text(encoding="utf-8")
        ignored = int(re.search(r"^SigIgn:\s*(\w+)", status, re.M)[1], 16)
        self.assertTrue(ignored >> (signal.SIGPIPE - 1) & 1)

    def test_the_page_lists_every_metric_and_no_other(self):
        page = (pathlib.Path(__file__).parent.parent / "docs" / "hatkv.md").read_text(encoding="utf-8")
        listed = set(re.findall(r"`((?:hatkv|process)_\w+)[`{]", page))
        shown = {re.sub(r"(_bucket|_count|_sum)?(\{.*)?$", "", name) for name in self.metrics()}
        self.assertEqual(listed - {"hatkv_power_loss_test"}, shown)

    def test_help_is_there_for_all(self):
        for command in "serve", "get", "put", "del", "scan", "load", "stats", "backup":
            self.assertTrue(hatkv(command, "--help").startswith(b"hatkv " + command.encode() + b": "))
        self.assertIn(b"\nusage: hatkv serve ", hatkv("--help"))
        self.assertRegex(hatkv("--version"), rb"^hatkv \d+\.\d+\.\d+\n$")

    def test_a_backup_opens_as_a_store(self):
        self.hatkv("put", "kept", "yes")
        said = self.hatkv("backup", "one").decode()
        copy = self.folder / "backups" / "one"
        self.assertTrue(said.startswith(f"{copy}: "), said)
        self.assertIn("this backup already exists", self.hatkv("backup", "one", expect=1))
        with tempfile.TemporaryDirectory(prefix="hatkv-restored-") as folder:
            os.rename(copy, pathlib.Path(folder) / "data")
            with Server(folder) as restored:
                self.assertEqual(self.hatkv("get", "kept", address=restored.addresses[0]), b"yes\n")


class Nonblocking(Running):
    OPTIONS = ["--server", "nonblocking", "--threads", "4", "--durability", "nosync"]

    def test_serves_at_every_address(self):
        for address in self.server.addresses:
            with self.subTest(address):
                self.hatkv("put", "color", address, address=address)
                self.assertEqual(self.hatkv("get", "color", address=address), address.encode() + b"\n")


class Life(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="hatkv-life-")
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)

    def refusal(self, *options):
        done = subprocess.run([HATKV, "serve", *options], capture_output=True, text=True,
                              timeout=WAIT_S, check=False)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def test_sigterm_ends_it_well_under_calls(self):
        for kind in KINDS:
            with self.subTest(kind):
                self.check_sigterm(kind)

    def check_sigterm(self, kind):
        server = Server(self.folder, "--server", kind).start()
        started = threading.Event()

        def call_on():
            with client(server.socket) as calls:
                try:
                    while True:
                        calls.put(b"k", b"v")
                        started.set()
                except Exception:  # the server has ended, as it must
                    pass

        threads = [threading.Thread(target=call_on) for _ in range(4)]
        for thread in threads:
            thread.start()
        self.assertTrue(started.wait(WAIT_S))
        self.assertEqual(server.stop(), 0, server.log())
        for thread in threads:
            thread.join(WAIT_S)
        self.assertFalse(pathlib.Path(server.socket).exists(), "the server has not removed its socket")

    def test_a_list_that_says_it_is_endless_ends_its_connection_alone(self):
        protocols = {"binary": TBinaryProtocol.TBinaryProtocol, "compact": TCompactProtocol.TCompactProtocol}
        for name, protocol in protocols.items():
            for kind in KINDS:
                with self.subTest(f"{name}, {kind}"), \
                        Server(self.folder, "--server", kind, "--protocol", name) as server:
                    with socket.socket(socket.AF_UNIX) as raw:
                        raw.settimeout(WAIT_S)
                        raw.connect(server.socket)
                        raw.sendall(multiput_of_too_many(protocol))
                        raw.shutdown(socket.SHUT_WR)  # without it, the nonblocking server waits for the next call
                        while raw.recv(4096):  # reads an answer, if there is one, and then the end
                            pass
                    hatkv("put", "k", "v", "--protocol", name, address=server.addresses[0])
                    self.assertEqual(hatkv("get", "k", "--protocol", name, address=server.addresses[0]),
                                     b"v\n")

    def test_a_killed_servers_sockets_are_taken_over(self):
        listen = [f"unix:{self.folder}/kv.sock", f"shm:{self.folder}/kv.ring"]
        server = Server(self.folder, listen=listen).start()
        server.kill()
        with server:
            for address in listen:
                hatkv("put", "k", "v", address=address)

    def test_what_cannot_be_served_is_said(self):
        with Server(self.folder, listen=["tcp:127.0.0.1:0"]) as server:
            status, said = self.refusal("--listen", "unix:/x", "--data", str(self.folder / "data"))
            self.assertEqual(status, 1)
            self.assertIn("another hatkv has this store open", said)
            status, said = self.refusal("--listen", server.addresses[0], "--data",
                                        str(self.folder / "other"))
            self.assertEqual(status, 1)
            self.assertIn(f"cannot serve at {server.addresses[0]}", said)
        status, said = self.refusal("--listen", "unix:/x")
        self.assertEqual((status, said),
                         (2, "hatkv: --data is missing (see hatkv serve --help)\n"))

    def test_the_word_serve_may_be_left_out(self):
        with subprocess.Popen([HATKV, "--listen", "tcp:127.0.0.1:0", "--data", self.folder / "data"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            self.assertRegex(server.stdout.readline(), r"^listening on tcp:127\.0\.0\.1:\d+\n$")
            server.terminate()
            self.assertEqual(server.wait(WAIT_S), 0)

    def test_hints_shape_the_store(self):
        manifest = self.folder / "manifest.yaml"
        manifest.write_text("hatrpc_manifest: 1\nservices:\n  HatKV:\n"
                            "    hint: {concurrency: 77, perf_goal: throughput}\n")
        with Server(self.folder, "--manifest", str(manifest)) as server:
            self.assertIn("readers 77; put waits up to 500 µs", server.log())
            stats = json.loads(hatkv("stats", "--json", address=server.addresses[0]))
            self.assertEqual(stats["readers"], 77)

    def test_writes_of_many_clients_share_commits(self):
        """Loads records with more and more clients until writes share commits.

        After two writes have been in the queue at the same time, the server waits for more writes before a commit.
        """
        with Server(self.folder, "--commit-wait-us", "200000") as server:
            address = server.addresses[0]
            written = committed = 0
            for clients in (8, 16, 32, 64, 128):
                hatkv("load", "--records", "400", "--batch", "1", "--clients", str(clients), "--quiet",
                      address=address)
                stats = json.loads(hatkv("stats", "--json", address=address))
                writes, commits = stats["writes"] - written, stats["commits"] - committed
                written, committed = stats["writes"], stats["commits"]
                self.assertEqual((writes, stats["syncs"]), (400, stats["commits"]))
                if commits < 300:
                    return
        self.fail(f"{commits} commits for 400 writes of {clients} clients")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
