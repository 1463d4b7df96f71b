# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/monitoring_test.py: tests the files of deploy/monitoring with Prometheus and two daemons.

Every alert must fire after the test has caused its condition, and not before. Rules and dashboard may name only metrics
that the daemons export.
"""

import contextlib
import copy
import json
import re
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

import yaml

from setting import (Client, PROGRAMS, Scenario, TApplicationException, edit, main, manifest, start_server)
from certificates import Certificates, revoke
from nodes import TwoNodes, ask, free_ports, hatrpc_address, wait_until
from prometheus import MONITORING, Prometheus, rules
from promql import Exported, read

WAIT = 60  # seconds; each wait takes one or two seconds on an idle machine
# Labels of which a daemon exports all values from its start.
COMPLETE = ("outcome", "reason", "side", "result", "mode", "use")
VARIABLES = {"$__rate_interval": "1m", "$job": ".*", "$instance": ".*", "$service": ".*",
             "$function": ".*", "$side": "client", "$peer": ".*"}


def promtool(*words):
    """Runs promtool; returns its output if it failed, else ""."""
    done = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


class Files(unittest.TestCase):
    """Tests that need no daemon."""

    def test_promtool_agrees(self):
        self.assertIsNotNone(shutil.which("promtool"), "Debian's package prometheus is not installed")
        self.assertEqual(promtool("check", "rules", MONITORING / "hatrpc.rules.yaml"), "")
        self.assertEqual(promtool("check", "config", MONITORING / "prometheus.yaml"), "")
        self.assertEqual(promtool("test", "rules", MONITORING / "hatrpc.rules.test.yaml"), "")

    def test_each_alert_says_how_bad_it_is_and_what_to_do(self):
        for rule in rules("alert"):
            with self.subTest(rule["alert"]):
                self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"))
                self.assertGreater(len(rule["annotations"]["summary"]), 20)
                self.assertGreater(len(rule["annotations"]["description"]), 80)

    def test_the_page_lists_each_alert_and_record(self):
        page = (MONITORING.parents[1] / "docs" / "monitoring.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(Hatrpc\w+)` \| (\w+) \|", page, re.M)
        self.assertEqual(rows, [(rule["alert"], rule["labels"]["severity"]) for rule in rules("alert")])
        self.assertEqual(re.findall(r"^\| `(\w+:\S+)` \|", page, re.M), [rule["record"] for rule in rules("record")])

    def test_the_dashboard_is_what_its_script_writes(self):
        written = subprocess.run(["/usr/bin/python3", MONITORING / "dashboard.py"], check=True,
                                 capture_output=True, text=True).stdout
        self.assertEqual((MONITORING / "hatrpc-dashboard.json").read_text(encoding="utf-8"), written,
                         "run deploy/monitoring/dashboard.py > deploy/monitoring/hatrpc-dashboard.json")

    def test_names_are_found_in_expressions(self):
        selectors, labels = read('sum by (a, b) (rate(x:y_total{c="1", d=~"e|f"}[5m])) / on (g) group_left () (z > 0)')
        self.assertEqual(selectors, [("x:y_total", [("c", "=", "1"), ("d", "=~", "e|f")]), ("z", [])])
        self.assertEqual(labels, {"a", "b", "g"})
        exported = Exported()
        exported.add({"__name__": "z", "side": "client"})
        rows = {"z": 0, 'sum by (side) (z{side="client"})': 0, 'z{side="$side"}': 0, "y": 1, 'z{a="1"}': 1,
                "sum by (a) (z)": 1, 'z{side="klient"}': 1, 'z{side=~"client|klient"}': 1}
        for expression, count in rows.items():
            self.assertEqual(len(list(exported.complaints(expression, ["side"]))), count, expression)


class Load:
    """A client that calls until end(), and ignores failures."""

    def __init__(self, nodes):
        self.going = True
        self.thread = threading.Thread(target=self.run, args=[nodes])
        self.thread.start()

    def run(self, nodes):
        while self.going:
            with contextlib.suppress(Exception), Client(nodes) as calls:  # the metrics count the failures
                while self.going:
                    calls.add(1, 2)
                    time.sleep(0.01)
            time.sleep(0.05)

    def end(self):
        self.going = False
        self.thread.join()


def guarded_manifest():
    """Returns a manifest whose `allow` rules let no peer call Probe.ping (a dry run) and Probe.divide (enforced)."""
    guarded = yaml.safe_load(manifest())
    probe = guarded["services"]["Probe"]
    guarded["services"]["Narrow"] = copy.deepcopy(probe)  # the same server serves this service too
    for function, mode in {"ping": "dry_run", "divide": "enforce"}.items():
        probe["functions"][function] |= {"allow": ["host-x"], "allow_mode": mode}
    return yaml.safe_dump(guarded)


class Watched(Scenario):
    """Two nodes with TLS, a server, a client that calls in a loop, and a Prometheus."""

    def setUp(self):
        self.port = free_ports(1)[0]
        self.server = self.start_server()
        self.addCleanup(lambda: self.server.stop())  # a lambda, because no_server() replaces self.server
        address = hatrpc_address(self.server.addresses[0])
        named = address.replace("127.0.0.1", "localhost")  # for the metrics about names
        elsewhere = f"tcp:127.0.0.1:{free_ports(1)[0]}"
        self.certificates = self.enterContext(Certificates(PROGRAMS, "host-a", "host-b"))
        revoke(self.certificates.folder)  # writes an empty revocation list
        links = {node: self.certificates.tls(node) for node in ("host-a", "host-b")}
        links["host-b"]["tls"]["crl"] = str(self.certificates.folder / "crl.pem")
        reads = {"thrift_transport": "framed", "thrift_protocol": "binary"}
        self.nodes = self.enterContext(TwoNodes(
            PROGRAMS, guarded_manifest(), {"Probe": address, "Narrow": named}, endpoints={"Elsewhere": elsewhere},
            modes={"Probe": reads, "Narrow": {**reads, "max_connections": 1}}, http=True,
            links=links, limits={"max_message": "1MiB", "max_connections": 24, "drain_timeout": "300s"}))
        load = Load(self.nodes)
        self.addCleanup(load.end)
        self.prometheus = self.enterContext(Prometheus([self.nodes.a.http, self.nodes.b.http]))
        self.fired = {}

    def start_server(self):
        return start_server(f"127.0.0.1:{self.port}")

    def seen(self, expression):
        """Returns True if Prometheus has at least one value for the expression."""
        return bool(self.prometheus.query(expression))

    def firing(self):
        """Returns the alerts that fire now, by name, and adds them to `fired`."""
        now = {}
        for alert in self.prometheus.firing():
            now.setdefault(alert["labels"]["alertname"], []).append(alert)
        self.fired |= now
        return now

    def expect(self, *alerts, of):
        """Checks that none of `alerts` fires; then enters the context manager `of`, and waits until all fire."""
        wait_until(f"none of {alerts} fires", lambda: not set(alerts) & set(self.firing()), WAIT)
        with of:
            wait_until(f"all of {alerts} fire", lambda: set(alerts) <= set(self.firing()), WAIT)
        print(f"{', '.join(alerts)}: fired", flush=True)

    def test_names_are_there_and_every_alert_fires_when_its_cause_is_made(self):
        self.settle()
        with self.subTest("names"):
            self.check_names()
        self.expect("HatrpcDeadlinesExceeded", "HatrpcMessagesTooLarge", "HatrpcServiceUnknown",
                    "HatrpcOverloaded", "HatrpcCallsDenied", "HatrpcCallsWouldBeDenied", "HatrpcCallsFailing",
                    of=self.calls_that_fail())
        self.expect("HatrpcReloadRefused", of=self.a_bad_manifest())
        self.expect("HatrpcNameLookupFails", of=self.a_name_that_does_not_exist())
        self.expect("HatrpcConnectionsRefused", "HatrpcFileDescriptorsRunOut", of=self.many_connections())
        self.expect("HatrpcServerUnreachable", of=self.no_server())
        self.expect("HatrpcRestarting", "HatrpcLinkFlapping", "HatrpcFallbackToTcp", of=self.restarts_without_rdma())
        self.expect("HatrpcCertificateEndsSoon", of=self.a_certificate_that_nobody_renews())
        self.expect("HatrpcCertificateExpired", "HatrpcTlsHandshakesFail", of=self.an_expired_certificate())
        self.expect("HatrpcInsecureLinks", of=self.a_node_without_tls())
        self.expect("HatrpcDrainStuck", of=self.a_call_that_holds_up_a_drain())
        self.expect("HatrpcDown", "HatrpcPeerDown", "HatrpcOnewayDropped", of=self.no_peer())
        self.assertEqual({rule["alert"] for rule in rules("alert")} - set(self.fired), set(),
                         "alerts that this test does not cause")
        for alert in (alert for alerts in self.fired.values() for alert in alerts):
            for text in alert["annotations"].values():
                self.assertNotRegex(text, "<error|<no value>|{{|%!")

    def settle(self):
        """Waits until Prometheus has seen calls over lanes for a while, and checks that no alert fires."""
        self.assertEqual(self.nodes.b.get("/status")["pending"], [])
        wait_until("Prometheus has seen calls over RDMA", lambda: self.seen(
            'sum(rate(hatrpc_calls_total{fabric!="tcp"}[1m])) > 0 and sum(hatrpc_lanes{state="up"}) > 0'), WAIT)
        # Alerts are computed from rates of the last minutes, so wait until this load is in the rates.
        wait_until("Prometheus has applied the rules for a minute",
                   lambda: self.seen("count_over_time(instance_function:hatrpc_requests:rate5m[1m]) > 8"), WAIT)
        wait_until("no alert fires", lambda: not self.prometheus.ask("alerts")["alerts"], WAIT)

    # --- Causes ---

    @contextlib.contextmanager
    def calls_that_fail(self):
        with Client(self.nodes) as calls, Client(self.nodes, "Elsewhere") as elsewhere:
            calls.hurried(0)  # creates the time series: a rate needs a sample that is older than the failures
            wait_until("Prometheus has the series of hurried",
                       lambda: self.seen('hatrpc_calls_total{thrift_method="hurried"}'), WAIT)
            self.assert_fails(lambda: elsewhere.add(1, 2), "unknown_service")
            self.assert_fails(lambda: calls.divide(4, 2), "permission_denied")
            calls.ping()
            self.assert_fails(lambda: calls.hurried(3000), "deadline_exceeded")  # this ends the connection
        with Client(self.nodes) as calls:
            self.assert_fails(lambda: calls.consume(bytes(2 << 20)), "too_large")
        with contextlib.ExitStack() as clients:
            def is_overloaded():  # true after each of host-b's workers has its one connection for Narrow
                try:
                    clients.enter_context(Client(self.nodes, "Narrow")).add(1, 2)
                except TApplicationException as error:
                    return "hatrpcd: overloaded: " in error.message
                return False
            wait_until("Narrow is overloaded", is_overloaded, WAIT)
        yield
        functions = {alert["labels"]["thrift_method"] for alert in self.fired["HatrpcCallsFailing"]}
        self.assertIn("hurried", functions)
        self.assertNotIn("add", functions)
        denied = {name: [(alert["labels"]["instance"], alert["labels"]["thrift_method"]) for alert in self.fired[name]]
                  for name in ("HatrpcCallsDenied", "HatrpcCallsWouldBeDenied")}
        self.assertEqual(denied, {"HatrpcCallsDenied": [(self.nodes.b.http, "divide")],
                                  "HatrpcCallsWouldBeDenied": [(self.nodes.b.http, "ping")]})

    @contextlib.contextmanager
    def a_bad_manifest(self):
        good = self.nodes.manifest.read_text(encoding="utf-8")
        self.nodes.manifest.write_text(good.replace("perf_goal: latency", "perf_goal: lightning"), encoding="utf-8")
        self.assertEqual(ask(self.nodes.a.admin, "POST", "/reload")[0], 409)
        yield
        self.nodes.manifest.write_text(good, encoding="utf-8")
        for node in (self.nodes.a, self.nodes.b):
            self.assertEqual(ask(node.admin, "POST", "/reload")[0], 200)

    @contextlib.contextmanager
    def a_name_that_does_not_exist(self):
        good = self.nodes.b.config.read_text(encoding="utf-8")
        # A resolver asks no server about .onion (RFC 7686).
        unused = {"upstream": "tcp:kv.onion:1"}
        edit(self.nodes.b, lambda config: config["serves"].update(Unused=unused))
        self.assertEqual(ask(self.nodes.b.admin, "POST", "/reload")[0], 200)
        yield
        self.nodes.b.config.write_text(good, encoding="utf-8")
        self.assertEqual(ask(self.nodes.b.admin, "POST", "/reload")[0], 200)

    @contextlib.contextmanager
    def many_connections(self):
        """Opens one connection more than the limit, and then leaves the daemon only a few free descriptors."""
        host, _, port = self.nodes.endpoints["Probe"].removeprefix("tcp:").rpartition(":")
        pid = self.nodes.a.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        with contextlib.ExitStack() as sockets:
            def refused():
                sockets.enter_context(socket.create_connection((host, int(port))))
                return re.search(r"^hatrpc_connections_refused_total [1-9]", self.metrics(), re.M)
            wait_until("a connection is refused", refused, WAIT)
            in_use = int(re.search(r"^process_open_fds (\d+)$", self.metrics(), re.M)[1])
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (in_use + 6, before[1]))
            yield
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)

    def metrics(self):
        return ask(self.nodes.a.admin, "GET", "/metrics")[1]

    @contextlib.contextmanager
    def no_server(self):
        self.server.stop()
        yield
        self.server = self.start_server()

    @contextlib.contextmanager
    def restarts_without_rdma(self):
        """Restarts host-b four times, with `fabric: tcp`."""
        b = self.nodes.b
        config = json.loads(b.config.read_text(encoding="utf-8"))
        b.config.write_text(json.dumps({**config, "fabric": "tcp"}), encoding="utf-8")
        for _ in range(4):
            began = f'process_start_time_seconds{{instance="{b.http}"}}'
            last = self.prometheus.query(f"last_over_time({began}[1m])")[0][1]
            self.assertEqual(b.stop(), 0)
            b.start()
            wait_until("the restart is seen", lambda: self.seen(f"{began} > {last}"), WAIT)
            self.await_links()
        yield
        self.assertIn("peer_has_none", {alert["labels"]["reason"] for alert in self.fired["HatrpcFallbackToTcp"]})

    def await_links(self):
        wait_until("links are up", self.nodes.a.links_are_up, WAIT)

    def start_again(self, node):
        self.assertEqual(node.stop(), 0)
        node.start()

    @contextlib.contextmanager
    def a_certificate_that_nobody_renews(self):
        """Replaces host-b's certificate, whose file host-b watches, by one that expires in 10 of its 60 minutes."""
        self.certificates.make_for("host-b", seconds_before=50 * 60, seconds_left=10 * 60)
        yield
        found = [alert["labels"] for alert in self.fired["HatrpcCertificateEndsSoon"]]
        self.assertEqual([(one["instance"], one["use"], one["subject"]) for one in found],
                         [(self.nodes.b.http, "certificate", "CN=host-b")])

    @contextlib.contextmanager
    def an_expired_certificate(self):
        """Gives host-b an expired certificate, and restarts host-b, because existing links would stay up."""
        self.certificates.make("host-b", days=0)
        self.start_again(self.nodes.b)
        yield
        wait_until("both ends say why", lambda: {(self.nodes.a.http, "expired"), (self.nodes.b.http, "refused")} <= {
            (alert["labels"]["instance"], alert["labels"]["reason"])
            for alert in self.firing().get("HatrpcTlsHandshakesFail", [])}, WAIT)
        self.certificates.make("host-b")
        self.await_links()

    @contextlib.contextmanager
    def a_node_without_tls(self):
        b = self.nodes.b
        secure = b.config.read_text(encoding="utf-8")
        config = json.loads(secure)
        del config["link"]["tls"]
        b.config.write_text(json.dumps({**config, "link": {**config["link"], "insecure": True}}), encoding="utf-8")
        self.start_again(b)
        yield
        self.assertEqual([alert["labels"]["instance"] for alert in self.fired["HatrpcInsecureLinks"]], [b.http])
        b.config.write_text(secure, encoding="utf-8")
        self.start_again(b)
        self.await_links()

    @contextlib.contextmanager
    def a_call_that_holds_up_a_drain(self):
        def call():
            with contextlib.suppress(Exception), Client(self.nodes, timeout_ms=300_000) as calls:
                calls.slow(240_000)

        def is_in_flight():
            return any(f["method"] == "slow" and f["in_flight"] for f in self.nodes.b.get("/functions"))

        thread = threading.Thread(target=call)
        thread.start()
        wait_until("the call is at the server", is_in_flight, WAIT)
        self.nodes.b.process.send_signal(signal.SIGTERM)
        yield
        self.assertEqual(self.nodes.b.stop(), 0, "a second SIGTERM must end the daemon in spite of calls in flight")
        thread.join()
        self.nodes.b.start()

    @contextlib.contextmanager
    def no_peer(self):
        self.nodes.b.stop(signal.SIGKILL)
        with Client(self.nodes) as calls:
            calls.note("lost")
            yield
        self.assertIn(self.nodes.b.http, [alert["labels"]["instance"] for alert in self.fired["HatrpcDown"]])
        self.assertEqual([alert["labels"]["peer"] for alert in self.fired["HatrpcPeerDown"]], ["host-b"])

    # --- Names ---

    def check_names(self):
        """Checks that the rules and the dashboard name only metrics, labels and values that Prometheus has."""
        exported = Exported()
        for series in self.prometheus.ask("series", **{"match[]": '{job=~".+"}'}):
            exported.add(series)
        dashboard = json.loads((MONITORING / "hatrpc-dashboard.json").read_text(encoding="utf-8"))
        expressions = [rule["expr"] for rule in rules("alert") + rules("record")]
        expressions += [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
        expressions += [one["expr"] for one in dashboard["annotations"]["list"] if "expr" in one]
        self.assertGreater(len(expressions), 60)
        complaints = [f"{expression}: {complaint}" for expression in expressions
                      for complaint in exported.complaints(expression, COMPLETE)]
        for variable in dashboard["templating"]["list"]:
            found = re.fullmatch(r"label_values\((.*), (\w+)\)", variable.get("definition", ""))
            if found:
                complaints += [f"{variable['name']}: {complaint}" for complaint in
                               exported.complaints(f"sum by ({found[2]}) ({found[1]})", COMPLETE)]
        self.assertEqual(complaints, [])
        self.check_answers(dashboard)

    def check_answers(self, dashboard):
        """Checks that each panel of the dashboard has data, with every label that the panel's legend names."""
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                with self.subTest(f"{panel['title']}: {target['expr']}"):
                    expression = target["expr"]
                    for variable, value in VARIABLES.items():
                        expression = expression.replace(variable, value)
                    # Query the last minute, because a late scrape on a busy machine leaves a gap in the data.
                    wait_until("Prometheus gives an answer that is not empty", lambda: self.seen(expression), WAIT)
                    answer = self.prometheus.query(f"last_over_time(({expression})[1m:250ms])")
                    named = set(re.findall(r"{{(\w+)}}", target.get("legendFormat", "")))
                    self.assertEqual(named - set(answer[0][0]), set())


if __name__ == "__main__":
    main()
