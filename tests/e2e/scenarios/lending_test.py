# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/lending_test.py: large messages leave rings and reach rings without a copy."""

import contextlib
import signal
import tempfile
import threading
import time

import yaml

from setting import Client, Scenario, TApplicationException, main, manifest, probe_nodes, start_server
from nodes import ask, wait_until
from thrift.transport.TTransport import TTransportException

LARGE = 1 << 20


def metric(node, name):
    status, page = ask(node.admin, "GET", "/metrics")
    assert status == 200, page
    return int(next(line.split()[-1] for line in page.splitlines() if line.startswith(name)))


def lent_bytes(node):
    return metric(node, "hatrpc_zero_copy_bytes_total")


def landed_bytes(node):
    return metric(node, "hatrpc_zero_copy_received_bytes_total")


def hinted(**hints):
    whole = yaml.safe_load(manifest())
    whole["services"]["Probe"]["hint"] = hints
    for function in whole["services"]["Probe"]["functions"].values():
        for key in ("hint", "c_hint", "s_hint"):
            (function or {}).pop(key, None)
    return yaml.safe_dump(whole)


@contextlib.contextmanager
def ring_nodes(mode="mirror", **hints):
    with tempfile.TemporaryDirectory(prefix="hatrpc-e2e-") as folder:
        server = start_server(f"shm:{folder}/server.ring")
        try:
            with probe_nodes(server, hinted(**hints), modes={"Probe": {"mode": mode}},
                             endpoints={"Probe": f"shm:{folder}/probe.ring"}) as nodes:
                yield nodes
        finally:
            server.stop()


def carried_by_rdma(node, method, protocol):
    """Returns true once RDMA has carried a call, and checks that `protocol` or its rendezvous carried each request."""
    row = next(row for row in node.get("/functions")
               if row["method"] == method and row["side"] == "client")
    requests = {one["request_protocol"] for one in row["carried"] if one["fabric"] != "tcp"}
    rendezvous = "read_rndv" if protocol in ("ar_grpc", "read_rndv") else "write_rndv"
    assert requests <= {protocol, rendezvous}, row["carried"]
    return bool(requests)


def warm(nodes, calls, protocol, size=LARGE):
    """Makes calls until the RDMA lane of `protocol`, which the manifest names, carries them."""
    def comes():
        calls.produce(size)
        calls.consume(bytes(size))
        return all(carried_by_rdma(nodes.a, method, protocol) for method in ("produce", "consume"))
    wait_until(f"the lane of {protocol} carries calls", comes)


class Lending(Scenario):
    def test_what_is_written_leaves_without_a_copy_in_both_directions(self):
        for protocol in ("write_rndv", "direct_write_imm"):
            with self.subTest(protocol), ring_nodes(protocol=protocol) as nodes:
                with Client(nodes) as calls:
                    warm(nodes, calls, protocol)
                    before = lent_bytes(nodes.a), lent_bytes(nodes.b)
                    self.assertEqual(calls.consume(bytes(LARGE)), LARGE)
                    between = lent_bytes(nodes.a), lent_bytes(nodes.b)
                    self.assertGreater(between[0] - before[0], 0.9 * LARGE, "requests must leave from their ring")
                    self.assertEqual(between[1], before[1])
                    self.assertEqual(len(calls.produce(LARGE)), LARGE)
                    self.assertGreater(lent_bytes(nodes.b) - between[1], 0.9 * LARGE,
                                       "replies must leave from their ring")

    def test_what_is_read_arrives_without_a_copy_in_both_directions(self):
        for protocol in ("read_rndv", "ar_grpc"):
            with self.subTest(protocol), ring_nodes(protocol=protocol) as nodes, Client(nodes) as calls:
                warm(nodes, calls, protocol)
                before = landed_bytes(nodes.a), landed_bytes(nodes.b)
                sent = bytes(range(256)) * (LARGE // 256)
                self.assertEqual(calls.echo(sent), sent)
                self.assertGreater(landed_bytes(nodes.b) - before[1], 0.9 * LARGE, "the request")
                self.assertGreater(landed_bytes(nodes.a) - before[0], 0.9 * LARGE, "the reply")

    def test_a_link_that_ends_gives_back_what_it_had_borrowed(self):
        # Uses shared mode, because in mirror mode the client's connection ends with the link.
        with ring_nodes("shared", protocol="write_rndv") as nodes:
            sent = bytes(range(256)) * (LARGE // 256)
            with Client(nodes) as calls:
                warm(nodes, calls, "write_rndv")
                for _ in range(3):
                    killer = threading.Timer(0.01, lambda: nodes.b.stop(signal.SIGKILL))
                    killer.start()
                    with contextlib.suppress(TApplicationException):
                        while True:
                            calls.consume(sent)
                    killer.join()
                    nodes.b.start()
                    wait_until("the link is up", lambda: nodes.a.get("/status")["links"][0]["up"])
                    # Send more bytes than the ring can hold. This works only if the daemon no longer borrows a range
                    # of the ring.
                    self.assertEqual(calls.consume(sent), LARGE)

    def test_a_client_gets_its_next_reply_after_a_reply_was_cut(self):
        # With read_rndv, the READs of the reply land in the client's ring when the peer dies.
        for protocol in ("write_rndv", "read_rndv"):
            with self.subTest(protocol), ring_nodes(protocol=protocol) as nodes:
                for _ in range(3):
                    with Client(nodes) as calls:
                        warm(nodes, calls, protocol)
                        killer = threading.Timer(0.01, lambda: nodes.b.stop(signal.SIGKILL))
                        killer.start()
                        with contextlib.suppress(TApplicationException, TTransportException):
                            while True:
                                calls.produce(LARGE)
                        killer.join()
                    nodes.b.start()
                    wait_until("the link is up", lambda: nodes.a.get("/status")["links"][0]["up"])
                    with Client(nodes) as calls:
                        self.assertEqual(len(calls.produce(LARGE)), LARGE)

    def test_a_client_that_dies_with_a_full_ring_leaves_nothing(self):
        for protocol in ("write_rndv", "read_rndv"):
            with self.subTest(protocol), ring_nodes(protocol=protocol) as nodes:
                with Client(nodes) as calls:
                    warm(nodes, calls, protocol)
                client = Client(nodes)
                client.transport.open()
                client.calls.send_produce(LARGE)
                wait_until("the server is answering", lambda: metric(nodes.b, "hatrpc_connections_open") == 0
                           and metric(nodes.b, "hatrpc_upstream_connections_open") == 1)
                time.sleep(0.2)  # the client's ring is full, and the server waits for space
                client.transport.close()
                wait_until("both daemons have closed its connection",
                           lambda: metric(nodes.a, "hatrpc_connections_open") == 0
                           and metric(nodes.b, "hatrpc_upstream_connections_open") == 0)

    def test_clients_that_leave_in_the_middle_take_nothing_with_them(self):
        for protocol in ("write_rndv", "read_rndv"):
            with self.subTest(protocol):
                self.check_that_leavers_take_nothing(protocol)

    def check_that_leavers_take_nothing(self, protocol):
        with ring_nodes(protocol=protocol) as nodes, Client(nodes) as calls:
            warm(nodes, calls, protocol)
            sent = bytes(range(256)) * (LARGE // 256)

            def leave():
                for _ in range(10):
                    client = Client(nodes)
                    client.transport.open()
                    client.calls.send_consume(sent)
                    client.transport.close()

            leavers = [threading.Thread(target=leave) for _ in range(4)]
            for one in leavers:
                one.start()
            for _ in range(20):
                self.assertEqual(calls.echo(sent), sent)
            for one in leavers:
                one.join()
            self.assertEqual(calls.echo(sent), sent)


if __name__ == "__main__":
    main()
