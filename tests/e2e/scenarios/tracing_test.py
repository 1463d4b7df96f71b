# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/tracing_test.py: a stock client sends its trace context in THeader's info headers; both daemons
write spans for the OpenTelemetry collector, and the server sees the span of the client's daemon as its parent."""

import json
import subprocess
import time

from setting import PROGRAMS, Scenario, main, probe_nodes
from theader import HeaderClient, HeaderServer
from nodes import ask, wait_until

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"
TYPES = {"stringValue": str, "intValue": str, "doubleValue": (int, float)}  # OTLP writes 64-bit integers as strings
SECONDS = 0.02  # of each call at the server
CLOCKS_NS = 200_000_000  # the most by which clocks that were read at different times may differ on a busy host
TRACING = {"tracing": {"path": "spans.jsonl"}}


def send(client, text):
    """Makes a call; with the info header `traceparent`, unless the text is None."""
    if text:
        client.set("traceparent", text)
    assert client.calls.add(1, 2) == 3


def traceparent(flags="01"):
    return f"00-{TRACE_ID}-{SPAN_ID}-{flags}"


def page_of(node):
    """Returns the node's page of metrics."""
    status, page = ask(node.admin, "GET", "/metrics")
    assert status == 200, page
    return page


def attributes_of(carrier):
    """Returns the attributes of a resource or span as a dict. Checks that they have the form of OTLP."""
    found = {}
    for attribute in carrier["attributes"]:
        assert set(attribute) == {"key", "value"} and len(attribute["value"]) == 1, attribute
        [(kind, value)] = attribute["value"].items()
        assert isinstance(value, TYPES[kind]), attribute
        assert attribute["key"] not in found, attribute
        found[attribute["key"]] = int(value) if kind == "intValue" else value
    return found


class Tracing(Scenario):
    def span_in(self, line):
        """Returns the one span of a line, which must be a TracesData of OTLP in JSON."""
        data = json.loads(line)
        self.assertEqual(set(data), {"resourceSpans"})
        [resource_spans] = data["resourceSpans"]
        self.assertEqual(set(resource_spans), {"resource", "scopeSpans"})
        self.assertEqual(set(resource_spans["resource"]), {"attributes"})
        [scope_spans] = resource_spans["scopeSpans"]
        self.assertEqual(set(scope_spans), {"scope", "spans"})
        self.assertEqual(scope_spans["scope"]["name"], "hatrpcd")
        [span] = scope_spans["spans"]
        self.assertEqual(set(span), {"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano",
                                     "endTimeUnixNano", "attributes", "status"})
        self.assertRegex(span["traceId"], "^[0-9a-f]{32}$")
        self.assertRegex(span["spanId"], "^[0-9a-f]{16}$")
        self.assertRegex(span["parentSpanId"], "^[0-9a-f]{16}$")
        for key in ("startTimeUnixNano", "endTimeUnixNano"):
            self.assertRegex(span[key], "^[0-9]{19}$")
        self.assertLessEqual(set(span["status"]), {"code", "message"})
        span["node"] = attributes_of(resource_spans["resource"])["service.instance.id"]
        span["attributes"] = attributes_of(span)
        return span

    def only_span(self, node):
        """Waits until the node has written a span; returns it."""
        file = node.config.parent / "spans.jsonl"
        wait_until("the span is written", lambda: file.exists() and file.read_text(encoding="utf-8").endswith("\n"))
        [line] = file.read_text(encoding="utf-8").splitlines()
        span = self.span_in(line)
        self.assertEqual(span["node"], node.name)
        return span

    def test_both_daemons_write_spans_and_the_server_sees_the_clients_daemon(self):
        server = HeaderServer(SECONDS)
        with probe_nodes(server=server, keys={"host-a": TRACING, "host-b": TRACING}) as nodes:
            began = time.time_ns()
            with HeaderClient(nodes) as client:
                send(client, traceparent())
                send(client, traceparent(flags="00"))
                send(client, None)
            ended = time.time_ns()
            ours, theirs = (self.only_span(node) for node in (nodes.a, nodes.b))
            for node in (nodes.a, nodes.b):  # a daemon counts a span after it has written it
                wait_until("the span is counted", lambda node=node: "hatrpc_spans_written_total 1\n" in page_of(node))
                self.assertIn("hatrpc_spans_lost_total 0\n", page_of(node))
        self.assertEqual((ours["kind"], theirs["kind"]), (3, 2))
        self.assertEqual(ours["parentSpanId"], SPAN_ID)
        self.assertEqual(theirs["parentSpanId"], ours["spanId"])
        for span in (ours, theirs):
            self.assertEqual(span["traceId"], TRACE_ID)
            self.assertEqual(span["name"], "Probe/add")
            self.assertEqual(span["status"], {})
            self.assertEqual(span["attributes"]["rpc.system.name"], "apache_thrift")
            self.assertEqual(span["attributes"]["rpc.method"], "Probe/add")
            self.assertGreaterEqual(span["attributes"]["hatrpc.server_us"], 0.7e6 * SECONDS)
            self.assertLess(began, int(span["startTimeUnixNano"]) + CLOCKS_NS)
            self.assertLess(int(span["endTimeUnixNano"]), ended + CLOCKS_NS)
        self.assertEqual(ours["attributes"]["server.address"], "host-b")
        parts = [ours["attributes"][f"hatrpc.{part}_us"] for part in ("waited", "wire", "peer", "server", "reply")]
        took = (int(ours["endTimeUnixNano"]) - int(ours["startTimeUnixNano"])) / 1000
        self.assertAlmostEqual(sum(parts), took, delta=1)
        sent = [headers.get(b"traceparent") for headers in server.headers]
        self.assertEqual(sent, [f"00-{TRACE_ID}-{ours['spanId']}-01".encode(), traceparent(flags="00").encode(), None])

    def test_without_the_key_nothing_is_changed_or_written(self):
        server = HeaderServer(SECONDS)
        with probe_nodes(server=server) as nodes:
            with HeaderClient(nodes) as client:
                send(client, traceparent())
            self.assertEqual(list(nodes.folder.rglob("spans.jsonl")), [])
            self.assertIn("hatrpc_spans_written_total 0\n", page_of(nodes.a))
        self.assertEqual(server.headers, [{b"traceparent": traceparent().encode()}])

    def test_a_file_that_cannot_be_written_is_reported_at_once(self):
        keys = {"tracing": {"path": "missing/spans.jsonl"}}
        with probe_nodes(server=HeaderServer(SECONDS), keys={"host-a": keys}) as nodes:
            file = nodes.a.config.parent / "missing" / "spans.jsonl"
            message = f"spans: cannot write to {file}: No such file or directory"
            wait_until("the daemon reports it", lambda: message in nodes.a.log())
            check = subprocess.run([PROGRAMS / "hatrpcd", "--check", "--config", nodes.a.config], text=True,
                                   capture_output=True, check=False)
            self.assertEqual(check.returncode, 0, check.stderr)
            self.assertIn("tracing.path: this user cannot write to", check.stdout + check.stderr)
            with HeaderClient(nodes) as client:
                send(client, traceparent())
            wait_until("the lost span is counted", lambda: "hatrpc_spans_lost_total 1\n" in page_of(nodes.a))
            self.assertEqual(nodes.a.log().count("spans: cannot write to"), 1)


if __name__ == "__main__":
    main()
