# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/versions_test.py: programs of this version and of the previous version work together.

tests/versions/previous names the previous version. tests/versions/build_previous.py builds its programs.
"""

import contextlib
import itertools
import os
import pathlib
import subprocess
import tempfile

from setting import PROGRAMS, Callers, Client, Scenario, main, manifest_with, probe_nodes, start_server
from lanes_test import Load, by_rdma, ways
from learned_test import Echo, learned, trials
from lending_test import LARGE, hinted, lent_bytes, warm
from nodes import ask, free_ports, wait_until
from peers import IDL
from preloading import StockScenario, preloaded
from takeover_test import PATIENCE_S, add, ended, load, metric
from tls_test import TlsNodes

ROOT = pathlib.Path(__file__).resolve().parents[3]
PREVIOUS = (ROOT / "build/previous/source/build/release/bin").resolve()
# The programs of host-a, which has the clients, and of host-b, which has the server.
MIXED = {"an older daemon at the client": (PREVIOUS, PROGRAMS), "an older daemon at the server": (PROGRAMS, PREVIOUS)}
# The programs of hatctl or hintgen, and of the daemons.
EITHER = {"older daemons": (PROGRAMS, PREVIOUS), "newer daemons": (PREVIOUS, PROGRAMS)}
HATCTL = (["status"], ["routes"], ["routes", "Probe.add"], ["top", "--once"], ["slow"], ["explain", "Probe.add"],
          ["peers"], ["connections"], ["advise"], ["certs"], ["ping"],
          ["metrics"], ["reload", "--dry-run"], ["reload"], ["calibrate", "host-b"])


def setUpModule():
    if not (PREVIOUS / "hatrpcd").exists():
        raise AssertionError(f"{PREVIOUS} has no hatrpcd; run tests/versions/build_previous.py, as ctest does")


@contextlib.contextmanager
def mixed_nodes(programs, **more):
    """Starts host-a with programs[0] and host-b with programs[1]; yields the nodes."""
    with probe_nodes(programs=programs[0], programs_b=programs[1], **more) as nodes:
        for node, folder in zip((nodes.a, nodes.b), programs):
            assert runs_from(node, folder), f"{node.name} must run from {folder}"
        yield nodes


def runs_from(node, programs):
    return pathlib.Path(os.readlink(f"/proc/{node.process.pid}/exe")) == programs / "hatrpcd"


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=90)


def manifest_by(programs, idl=IDL):
    done = run(programs / "hintgen", idl)
    assert done.returncode == 0, done.stderr
    return done.stdout


def exercise(calls):
    """Makes small and large calls in both directions, oneway calls, and a call that ends with an exception of the IDL."""
    for i in range(100):
        add(calls, i)
        calls.note("versions")
    assert calls.count("versions") == 100, "the oneway calls must arrive before the next call"
    large = bytes(i % 251 for i in range(LARGE))
    assert calls.echo(large) == large
    assert calls.produce(LARGE) == large
    assert calls.consume(large) == LARGE


class Calls(StockScenario):
    def run_all_cases(self, nodes):
        self.run_client("cpp", "framed", nodes.endpoints["Probe"].removeprefix("tcp:"), os.environ)

    def test_calls_over_tcp_and_over_rdma_lanes(self):
        for (name, programs), fabric, mode in itertools.product(MIXED.items(), ("tcp", "loop"), ("mirror", "shared")):
            with self.subTest(name, fabric=fabric, mode=mode), \
                 mixed_nodes(programs, fabric=fabric, modes={"Probe": {"mode": mode}}) as nodes, \
                 Client(nodes) as calls:
                if fabric == "loop":
                    def lanes_carry():
                        exercise(calls)
                        return all(by_rdma(nodes.a, method) for method in ("add", "note", "echo", "produce", "consume"))
                    wait_until("RDMA lanes carry each kind of call", lanes_carry, PATIENCE_S)
                exercise(calls)
                self.run_all_cases(nodes)
                fabrics = {fabric for _, _, fabric in ways(nodes.a, "echo")}
                self.assertIn(fabric, fabrics)
                self.assertLessEqual(fabrics, {"tcp", fabric})

    def assert_links_never_ended(self, nodes):
        self.assertEqual({link["last_error"] for link in nodes.a.get("/status")["links"]}, {""}, nodes.a.log()[-2000:])

    def test_calls_that_wait_for_a_shared_connection(self):
        """The reply to such a call says how long it has waited, if the peer can read this."""
        for name, programs in MIXED.items():
            with self.subTest(name), \
                 mixed_nodes(programs, modes={"Probe": {"mode": "shared", "max_connections": 1}},
                             keys={"host-b": {"workers": 1}}) as nodes:
                with Callers(nodes, 4, lambda calls, _: calls.slow(5)) as callers:
                    wait_until("calls have waited", lambda: callers.errors or callers.calls >= 100, PATIENCE_S)
                self.assertEqual(callers.errors, [])
                self.assert_links_never_ended(nodes)

    def test_lanes_that_break(self):
        """Streams end with their lane if the peer does not know how to resume them. The link stays."""
        for name, programs in MIXED.items():
            with self.subTest(name), mixed_nodes(programs, fabric={"kind": "loop", "faults": {"cut_within": 300}},
                                                 limits={"lane_settle": "10ms"}) as nodes:
                load = Load(nodes)
                try:
                    wait_until("lanes have carried calls and failed ten times", lambda: load.wrong or (
                        by_rdma(nodes.a, "add") > 500 and sum(
                            lane["failures"] for link in nodes.a.get("/status")["links"] for lane in link["lanes"]) > 10),
                        PATIENCE_S)
                finally:
                    load.end()
                self.assertEqual(load.wrong, [])
                self.assertEqual(set(load.refused) - {"link_lost"}, set(), load.refused)
                self.assert_links_never_ended(nodes)

    def test_large_messages_leave_rings_without_a_copy(self):
        for (name, programs), protocol in itertools.product(MIXED.items(), ("direct_write_imm", "read_rndv")):
            with self.subTest(name, protocol=protocol), tempfile.TemporaryDirectory(prefix="hatrpc-versions-") as folder:
                server = start_server(f"shm:{folder}/server.ring")
                self.addCleanup(server.stop)
                with mixed_nodes(programs, server=server, manifest_text=hinted(protocol=protocol),
                                 endpoints={"Probe": f"shm:{folder}/probe.ring"}, fabric="loop") as nodes, \
                     Client(nodes) as calls:
                    warm(nodes, calls, protocol)
                    before = lent_bytes(nodes.a), lent_bytes(nodes.b)
                    exercise(calls)
                    self.assertGreater(lent_bytes(nodes.a) - before[0], 0.9 * LARGE)
                    self.assertGreater(lent_bytes(nodes.b) - before[1], 0.9 * LARGE)

    def test_learned_plans(self):
        for name, programs in MIXED.items():
            with self.subTest(name), mixed_nodes(programs, manifest_text=learned("learned"), fabric="loop") as nodes, \
                 Callers(nodes, 4, Echo()) as callers:
                wait_until("the client's daemon has tried six choices", lambda: trials(nodes.a) >= 6, 60)
            self.assertEqual(callers.errors, [])

    def test_the_preloaded_library_of_the_other_version(self):
        for name, (library, daemons) in EITHER.items():
            with self.subTest(name), tempfile.TemporaryDirectory(prefix="hatrpc-versions-") as folder:
                ring, nobody = f"{folder}/probe.ring", f"127.0.0.1:{free_ports(1)[0]}"
                with mixed_nodes((daemons, daemons), endpoints={"Probe": f"shm:{ring}"}):
                    self.run_client("cpp", "framed", nobody, preloaded(
                        {nobody: ring}, library=library.parent / "lib" / "libhatrpc-preload.so"))


class Tls(TlsNodes):
    def test_links_with_tls(self):
        for name, programs in MIXED.items():
            with self.subTest(name), self.nodes(programs=programs[0], programs_b=programs[1]) as nodes, \
                 Client(nodes) as calls:
                exercise(calls)
                self.assertEqual([node.get("/status")["link_security"] for node in (nodes.a, nodes.b)], ["tls"] * 2)


class Files(Scenario):
    def functions(self, node):
        return {(service["service"], function["method"]) for service in node.get("/routes")["services"]
                for function in service["functions"]}

    def test_manifests_of_both_versions_of_hintgen(self):
        for name, (hintgen, daemons) in EITHER.items():
            with self.subTest(name), mixed_nodes((daemons, daemons), manifest_text=manifest_by(hintgen)) as nodes, \
                 Client(nodes) as calls:
                (nodes.manifest.parent / "kv.yaml").write_text(manifest_by(hintgen, ROOT / "kv/hatkv.thrift"))
                for node in (nodes.a, nodes.b):
                    status, body = ask(node.admin, "POST", "/reload")
                    self.assertEqual(status, 200, body)
                    self.assertLessEqual({("Probe", "add"), ("HatKV", "get")}, self.functions(node))
                self.assert_fails(lambda calls=calls: calls.hurried(5000), "deadline_exceeded")

    def test_a_hint_of_a_newer_version_is_refused(self):
        """The daemon names the hint and its position, and continues with the manifest that it has."""
        for programs in (PREVIOUS, PROGRAMS):
            with self.subTest(programs=programs), mixed_nodes((programs, programs)) as nodes, Client(nodes) as calls:
                nodes.manifest.write_text(manifest_with({"add": {"hint_of_tomorrow": 1}}))
                done = run(PROGRAMS / "hatctl", "--socket", nodes.a.admin, "reload")
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertRegex(done.stderr, r"probe\.yaml:\d+:\d+: error: unknown hint 'hint_of_tomorrow'")
                done = run(programs / "hatrpcd", "--config", nodes.a.config, "--takeover")
                self.assertEqual(done.returncode, 78, done.stderr)
                self.assertEqual(nodes.a.get("/status")["pid"], nodes.a.process.pid)
                self.assertIn(("Probe", "add"), self.functions(nodes.a))
                add(calls, 1)


class Upgrade(Scenario):
    def replace(self, node, programs):
        node.programs = programs
        old = node.take_over()
        self.assertEqual(ended(old), 0, f"{node.name}: {node.log()[-3000:]}")
        self.assertTrue(runs_from(node, programs))

    def test_takeovers_to_this_version_and_back_lose_no_call(self):
        with tempfile.TemporaryDirectory(prefix="hatrpc-versions-") as folder:
            for options in ({"fabric": "tcp"}, {"fabric": "loop"}, {"fabric": "loop", "modes": {"Probe": {"mode": "shared"}}},
                            {"fabric": "loop", "endpoints": {"Probe": f"shm:{folder}/probe.ring"}}):
                with self.subTest(**options), mixed_nodes((PREVIOUS, PREVIOUS), **options) as nodes, \
                     load(self, nodes) as callers:
                    for programs in (PROGRAMS, PREVIOUS):
                        for node in (nodes.b, nodes.a):
                            self.replace(node, programs)
                    wait_until("the last daemon has all connections", lambda: metric(
                        nodes.a, "hatrpc_connections_taken_over_total") == len(callers), PATIENCE_S)


class Hatctl(Scenario):
    def test_commands_with_daemons_of_the_other_version(self):
        """Each command succeeds, or says that an older daemon does not have the data."""
        for name, (hatctl, daemons) in EITHER.items():
            with mixed_nodes((daemons, daemons), fabric="loop") as nodes, Client(nodes) as calls:
                exercise(calls)
                for words in HATCTL:
                    with self.subTest(name, words=words):
                        done = run(hatctl / "hatctl", "--socket", nodes.a.admin, *words)
                        if hatctl == PREVIOUS and f"'{words[0]}' is not a command of hatctl" in done.stderr:
                            continue
                        if daemons == PREVIOUS and done.returncode == 1:
                            self.assertRegex(done.stderr, r"\Ahatctl: this hatrpcd is too old to .*: upgrade it\n\Z")
                        else:
                            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                            self.assertNotEqual(done.stdout, "")

    def test_daemons_of_both_versions_measure_their_fabric(self):
        for name, programs in MIXED.items():
            with self.subTest(name), mixed_nodes(programs, fabric="loop") as nodes:
                done = run(PROGRAMS / "hatctl", "--socket", nodes.a.admin, "calibrate", "host-b", "--json")
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                self.assertIn("pushed_calls", done.stdout)


if __name__ == "__main__":
    main()
