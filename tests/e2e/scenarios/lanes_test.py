# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/lanes_test.py: calls over RDMA lanes: hints choose the lanes, and broken lanes are replaced."""

import collections
import re
import signal
import threading
import time

import yaml

from setting import Client, Scenario, TApplicationException, main, manifest, probe_nodes, start_server
from thrift.transport.TTransport import TTransportException
from nodes import ask, wait_until


def rows(node):
    """Returns the rows of Probe's functions on the client's side, by function."""
    return {row["method"]: row for row in node.get("/functions")
            if row["side"] == "client" and row["service"] == "Probe"}


def fallbacks(node, method):
    return rows(node)[method]["fallbacks"]


def by_request(node, method):
    """Returns a Counter of a function's calls by the protocol that carried the requests."""
    calls = collections.Counter()
    for one in rows(node)[method]["carried"]:
        calls[one["request_protocol"]] += one["calls"]
    return calls


def by_rdma(node, method):
    calls = by_request(node, method)
    return calls.total() - calls["tcp"]


def ways(node, method):
    """Returns {(request_protocol, reply_protocol, fabric): calls} of a function, from the node's metrics."""
    status, page = ask(node.admin, "GET", "/metrics")
    assert status == 200, page
    found = {}
    for labels, calls in re.findall(r"^hatrpc_calls_total\{(.*)\} (\d+)$", page, re.MULTILINE):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        if labels["thrift_method"] == method and int(calls) > 0:
            found[labels["request_protocol"], labels["reply_protocol"], labels["fabric"]] = int(calls)
    return found


def carried(node, method):
    """Returns the same as ways(), from the rows that `hatctl routes` and the status page show."""
    return {(one["request_protocol"], one["reply_protocol"], one["fabric"]): one["calls"]
            for one in rows(node)[method]["carried"]}


def manifest_of_multiget():
    """Returns Probe's manifest, in which produce() has hints as HatKV's multiget(): small requests, large replies.

    The planner chooses rfp for such replies if there are more callers than cores.
    """
    whole = yaml.safe_load(manifest())
    whole["services"]["Probe"]["functions"]["produce"] = {
        "hint": {"perf_goal": "throughput", "concurrency": "over"},
        "c_hint": {"payload_size": 512}, "s_hint": {"payload_size": 10 << 10}}
    return yaml.safe_dump(whole)


def lanes_up(node):
    return sum(lane["state"] == "up" for link in node.get("/status")["links"]
               for lane in link["lanes"])


class ConnectionEnded(Exception):
    """The daemon has ended the client's connection, after it had answered all calls on the connection."""


class Load:
    """Clients that call until end(); no call may get a wrong answer or two answers."""

    def __init__(self, nodes, clients=4, address=None, first=0):
        """`address`: the endpoint, if `nodes` is None. `first`: a number that no other load of the test has."""
        self.lock = threading.Lock()
        self.answered, self.refused, self.wrong, self.notes = 0, collections.Counter(), [], []
        self.ended = 0
        self.going = True
        self.threads = [threading.Thread(target=self.run, args=[nodes, address, first * clients + i])
                        for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, nodes, address, number):
        done = 0
        while self.going:
            try:
                with Client(nodes, address=address) as calls:
                    while self.going:
                        done += 1
                        self.call(calls, number * 100_000_000 + done)
            except ConnectionEnded:  # the lane has failed, so the upstream connection has ended too (mirror mode)
                with self.lock:
                    self.ended += 1
            except Exception as error:  # any other exception is an error: a call may fail only with a local reply
                self.wrong.append(repr(error))
                return

    def call(self, calls, number):
        try:
            if number % 10 == 0:
                with self.lock:
                    self.notes.append(str(number))
                calls.note(str(number))
            elif number % 10 == 1:
                size = number % 200_000
                if len(calls.produce(size)) != size:
                    self.wrong.append(f"produce({size})")
            elif calls.add(number, 7) != number + 7:
                self.wrong.append(f"add({number})")
            with self.lock:
                self.answered += 1
        except TApplicationException as error:
            with self.lock:
                self.refused[error.message.split(": ")[1]] += 1
        except (TTransportException, OSError) as error:
            raise ConnectionEnded from error

    def end(self):
        self.going = False
        for thread in self.threads:
            thread.join()


class Lanes(Scenario):
    def warm(self, nodes, calls):
        """Calls add() until an RDMA lane has carried a call."""
        def comes():
            calls.add(1, 1)
            return by_rdma(nodes.a, "add") > 0
        wait_until("an RDMA lane has carried a call", comes)

    def test_hints_choose_the_lane(self):
        with probe_nodes() as nodes, Client(nodes) as calls:
            self.warm(nodes, calls)
            for i in range(100):
                self.assertEqual(calls.add(i, 1), i + 1)
                self.assertEqual(calls.echo(b"x" * i), b"x" * i)
                calls.note("me")
            self.assertEqual(calls.count("me"), 100, "a oneway call must not be overtaken by the next call")
            self.assertGreaterEqual(by_request(nodes.a, "add")["direct_write_imm"], 100)
            self.assertGreaterEqual(by_request(nodes.a, "note")["hybrid_eager_rndv"], 90)
            self.assertEqual(set(fallbacks(nodes.a, "add")), {"opening"})
            self.assertGreaterEqual(lanes_up(nodes.a), 3)

    def test_a_reply_that_was_read_is_counted_as_such(self):
        with probe_nodes(manifest_text=manifest_of_multiget()) as nodes, Client(nodes) as calls:
            def is_read():
                self.assertEqual(len(calls.produce(8000)), 8000)
                return ways(nodes.a, "produce").get(("direct_write_imm", "rfp", "loop"), 0) >= 10
            wait_until("ten replies were READ", is_read)
            # On a busy machine, the server can be so slow that the daemon stops to READ; the reply is then pushed.
            self.assertLessEqual(set(ways(nodes.a, "produce")),
                                 {("tcp", "tcp", "tcp"), *(("direct_write_imm", reply, "loop")
                                                           for reply in ("rfp", "read_rndv", "write_rndv"))})
            self.assertEqual(ways(nodes.a, "produce"), carried(nodes.a, "produce"))
            for _ in range(3):  # a reply of 100,000 bytes fits no slot
                self.assertEqual(len(calls.produce(100_000)), 100_000)
            self.assertGreaterEqual(ways(nodes.a, "produce")["direct_write_imm", "write_rndv", "loop"], 3)

    def test_calls_that_fall_back_to_tcp_are_counted_as_such(self):
        with probe_nodes(fabric_b="tcp") as nodes, Client(nodes) as calls:
            for i in range(20):
                self.assertEqual(calls.add(i, 1), i + 1)
                calls.note("oneway")
            self.assertEqual(calls.count("oneway"), 20)
            self.assertEqual(ways(nodes.a, "add"), {("tcp", "tcp", "tcp"): 20})
            self.assertEqual(ways(nodes.a, "note"), {("tcp", "none", "tcp"): 20})
            self.assertEqual(fallbacks(nodes.a, "add"), {"peer_has_none": 20})
            self.assertEqual(ways(nodes.b, "add"), {}, "only the client's side counts")

    def test_tcp_functions_never_touch_rdma(self):
        with probe_nodes() as nodes, Client(nodes) as calls:
            text = nodes.manifest.read_text()
            self.assertIn("perf_goal: latency", text)
            nodes.manifest.write_text(text.replace("perf_goal: latency", "transport: tcp"))
            self.assertEqual(ask(nodes.a.admin, "POST", "/reload")[0], 200)
            for i in range(300):
                self.assertEqual(calls.add(i, 1), i + 1)
                calls.note("other lane")
            self.assertEqual(by_request(nodes.a, "add"), {"tcp": 300})
            self.assertEqual(fallbacks(nodes.a, "add"), {}, "TCP by choice must not count as a fallback")
            self.assertGreater(by_rdma(nodes.a, "note"), 200, "other functions of the service must use RDMA")
            self.assertEqual(calls.count("other lane"), 300)

    def test_a_peer_without_rdma_is_served_over_tcp_and_says_why(self):
        with probe_nodes(fabric_b="tcp") as nodes, Client(nodes) as calls:
            for i in range(20):
                self.assertEqual(calls.add(i, 1), i + 1)
            self.assertEqual(fallbacks(nodes.a, "add"), {"peer_has_none": 20})
        with probe_nodes(fabric="tcp") as nodes, Client(nodes) as calls:
            self.assertEqual(calls.add(1, 1), 2)
            self.assertEqual(fallbacks(nodes.a, "add"), {"no_fabric": 1})
            self.assertIn("the configuration says tcp", nodes.a.get("/status")["fabric"])

    def test_a_peer_that_refuses_lanes_serves_over_tcp_and_both_nodes_say_why(self):
        why = "RDMA lanes: no memory left for "
        with probe_nodes(fabric="loop", fabric_b={"kind": "loop", "max_pinned": "8MiB"}) as nodes, \
                Client(nodes) as calls:
            def is_refused():
                self.assertEqual(calls.add(1, 1), 2)
                return fallbacks(nodes.a, "add").get("refused", 0) > 0
            wait_until("the client's node has learned that its lane is refused", is_refused)
            self.assertEqual(by_rdma(nodes.a, "add"), 0)
            errors = [lane["last_error"] for link in nodes.a.get("/status")["links"] for lane in link["lanes"]]
            self.assertTrue(any(error.startswith("the peer: " + why) for error in errors), errors)
            self.assertIn("peer host-a: an RDMA lane was refused; calls that want it use TCP: " + why, nodes.b.log())
            metrics = ask(nodes.b.admin, "GET", "/metrics")[1]
            self.assertRegex(metrics, r"(?m)^hatrpc_lanes_refused_total [1-9]")
            self.assertRegex(metrics, r"(?m)^hatrpc_rdma_memory_bytes ")

    def test_lanes_that_break_all_the_time_lose_no_call_silently(self):
        faults = {"kind": "loop", "faults": {"cut_within": 300}}
        server = start_server()
        with probe_nodes(server, fabric=faults, limits={"lane_settle": "10ms"}) as nodes:
            load = Load(nodes)
            time.sleep(6)
            load.end()
            self.assertEqual(load.wrong, [])
            self.assertEqual(set(load.refused) - {"link_lost"}, set(), load.refused)
            self.assertGreater(load.refused["link_lost"], 0, "no lane broke during a call")
            self.assertGreater(by_rdma(nodes.a, "add"), 500)
            self.assertGreater(load.answered, 20 * sum(load.refused.values()))
            self.assertGreater(load.answered, 10 * load.ended)
            missed = fallbacks(nodes.a, "add")
            self.assertGreater(missed["down"], 0)
            failures = sum(lane["failures"] for link in nodes.a.get("/status")["links"]
                           for lane in link["lanes"])
            self.assertGreater(failures, 10, "lanes must be made again, and fail again")
            metrics = ask(nodes.a.admin, "GET", "/metrics")[1]
            resumed = re.search(r'(?m)^hatrpc_streams_resumed_total\{peer="host-b"\} (\d+)', metrics)
            self.assertGreater(int(resumed[1]), 0, "no stream continued over TCP")
            again = re.findall(r"(?m)^hatrpc_retries_total\{.*\} (\d+)", metrics)
            self.assertGreater(sum(map(int, again)), 0, "no request that was lost was sent again")
            with Client(None, address=server.addresses[0]) as calls:  # asks the server directly
                seen = collections.Counter(calls.count(note) for note in load.notes)
                self.assertEqual(set(seen) - {0, 1}, set(), "a call was executed twice")
                self.assertGreater(seen[1], 20 * seen[0])
            self.assert_flat(nodes)
        server.stop()

    def assert_flat(self, nodes):
        """Checks that both daemons have closed all connections, also those whose lanes broke."""
        def left():
            return [nodes.a.get("/status")["connections_open"],
                    nodes.b.get("/status")["upstream_connections_open"]]
        wait_until("no connection is left", lambda: left() == [0, 0])

    def test_a_killed_peer_comes_back_to_rdma(self):
        with probe_nodes() as nodes:
            with Client(nodes) as calls:
                self.warm(nodes, calls)
            load = Load(nodes)
            time.sleep(0.5)
            nodes.b.stop(signal.SIGKILL)
            nodes.b.start()
            before = by_rdma(nodes.a, "add")
            wait_until("RDMA lanes carry calls again", lambda: by_rdma(nodes.a, "add") > before + 100)
            load.end()
            self.assertEqual(load.wrong, [])
            self.assertEqual(set(load.refused) - {"link_lost", "peer_unreachable"}, set())

    def test_an_orderly_end_is_no_failure_of_a_lane(self):
        with probe_nodes() as nodes, Client(nodes) as calls:
            self.warm(nodes, calls)
            self.assertEqual(nodes.b.stop(), 0)
            wait_until("host-a has logged the end of the old link", lambda: "its old link has ended" in nodes.a.log())
            self.assertNotIn("RDMA lane", nodes.a.log())

    def test_a_drained_peer_loses_nothing(self):
        """Uses shared mode, because in mirror mode a client's connection ends when the server's node drains."""
        with probe_nodes(limits={"peer_wait": "10s"}, modes={"Probe": {"mode": "shared"}}) as nodes:
            with Client(nodes) as calls:
                self.warm(nodes, calls)
            load = Load(nodes)
            for _ in range(3):
                time.sleep(0.5)
                self.assertEqual(nodes.b.stop(), 0)
                nodes.b.start()
            load.end()
            self.assertEqual((load.wrong, dict(load.refused), load.ended), ([], {}, 0))


if __name__ == "__main__":
    main()
