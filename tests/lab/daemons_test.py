# SPDX-License-Identifier: Apache-2.0
"""tests/lab/daemons_test.py: tests two hatrpcds on real libibverbs: each protocol, hatctl doctor, and a cut network.

usage: daemons_test.py PROGRAMS PEERS

tests/lab/lab.py runs it in the virtual machine. host-a has the device rxe1, and host-b has rxe2. Client and server are
stock Thrift programs. The output has GoogleTest's format.
"""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import yaml
from cases import run_cases
from thrift.transport.TTransport import TTransportException

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e" / "scenarios"))
from setting import Client, PROGRAMS, TApplicationException, manifest, probe_nodes, start_server  # noqa: E402
from lending_test import lent_bytes  # noqa: E402
from nodes import wait_until  # noqa: E402

PROTOCOLS = ("eager", "direct_write_send", "chained_write_send", "direct_write_imm", "write_rndv",
             "read_rndv", "hybrid_eager_rndv", "ar_grpc", "rfp", "farm", "pilaf", "herd", "hipower")
# Long times, because everything takes many times longer on emulated processors.
PATIENT = {"keepalive_timeout": "60s", "keepalive_interval": "5s", "connect_timeout": "20s",
           "lane_settle": "200ms", "peer_wait": "20s"}


def verbs_nodes(text, server=None, **more):
    return probe_nodes(server, fabric={"kind": "verbs", "device": "rxe1"},
                       fabric_b={"kind": "verbs", "device": "rxe2"}, limits=PATIENT,
                       manifest_text=text, **more)


def manifest_with(protocol_of):
    """Returns the manifest of Probe, with a protocol for each function. `protocol_of`: protocol by function name."""
    text = yaml.safe_load(manifest())
    for name, function in text["services"]["Probe"]["functions"].items():
        function.clear()
        if name == "note":
            function["oneway"] = True
        if name in protocol_of:
            function["hint"] = {"protocol": protocol_of[name]}
    return yaml.safe_dump(text)


def calls_by_way(node):
    """Returns for each function of Probe a Counter of its calls by (request_protocol, reply_protocol)."""
    return {row["method"]: collections.Counter({(one["request_protocol"], one["reply_protocol"]): one["calls"]
                                                for one in row["carried"]})
            for row in node.get("/functions") if row["side"] == "client" and row["service"] == "Probe"}


def by_direct_write_imm(node):
    return calls_by_way(node)["add"]["direct_write_imm", "direct_write_imm"]


CALLS = {
    "ping": lambda calls: calls.ping() is None,
    "add": lambda calls: calls.add(3, 4) == 7,
    "echo": lambda calls: calls.echo(b"e" * 20_000) == b"e" * 20_000,
    "echo_text": lambda calls: calls.echo_text("text") == "text",
    "divide": lambda calls: calls.divide(12, 4) == 3,
    "note": lambda calls: calls.note("lab") is None,
    "count": lambda calls: calls.count("nobody") == 0,
    "slow": lambda calls: calls.slow(1) == 1,
    "hurried": lambda calls: calls.hurried(1) == 1,
    "produce": lambda calls: len(calls.produce(150_000)) == 150_000,
    "consume": lambda calls: calls.consume(b"c" * 70_000) == 70_000,
}


LARGE_REQUESTS, LARGE_REPLIES = {"echo", "consume"}, {"echo", "produce"}  # functions whose messages fit no slot


def rendezvous_of(protocol):
    return "read_rndv" if protocol in ("ar_grpc", "read_rndv") else "write_rndv"


def carriers(name, protocol):
    """Returns what may carry requests of function `name` on a lane of `protocol`."""
    return {protocol, rendezvous_of(protocol)} if name in LARGE_REQUESTS else {protocol}


def check_replies(name, protocol, by):
    """Checks what carried the replies of the calls `by` way whose requests went by RDMA."""
    allowed = {"none"} if name == "note" else {protocol}
    if name in LARGE_REPLIES:
        allowed.add(rendezvous_of(protocol))
    if protocol in ("rfp", "farm", "pilaf"):  # on a slow machine, replies are pushed
        allowed |= {"eager", "read_rndv"} if name in LARGE_REPLIES else {"eager"}
    replies = {reply for (request, reply), calls in by.items() if request != "tcp" and calls}
    assert replies <= allowed, (name, protocol, by)


def each_protocol_once():
    for begin in range(0, len(PROTOCOLS), len(CALLS)):
        protocol_of = dict(zip(CALLS, PROTOCOLS[begin:]))
        with verbs_nodes(manifest_with(protocol_of)) as nodes, Client(nodes, timeout_ms=60_000) as calls:
            assert "verbs: rxe1" in nodes.a.get("/status")["fabric"], nodes.a.get("/status")["fabric"]

            def all_have_gone():
                for name in protocol_of:
                    assert CALLS[name](calls), name
                by = calls_by_way(nodes.a)
                return all(sum(calls for (request, _), calls in by[name].items() if request in carriers(name, protocol))
                           >= 3 for name, protocol in protocol_of.items())
            wait_until(f"three calls by each of {protocol_of}", all_have_gone, 120)
            for name, by in calls_by_way(nodes.a).items():
                if name in protocol_of:
                    check_replies(name, protocol_of[name], by)
            fabrics = {one["fabric"] for row in nodes.a.get("/functions") for one in row["carried"]}
            assert fabrics <= {"verbs:rxe1", "tcp"} and "verbs:rxe1" in fabrics, fabrics


def rings_that_the_device_gathers_from():
    with tempfile.TemporaryDirectory(prefix="hatrpc-lab-") as folder:
        server = start_server(f"shm:{folder}/server.ring")
        try:
            text = manifest_with({"consume": "write_rndv", "produce": "direct_write_imm",
                                  "echo": "read_rndv"})
            with verbs_nodes(text, server, endpoints={"Probe": f"shm:{folder}/probe.ring"}) as nodes, \
                 Client(nodes, timeout_ms=60_000) as calls:
                def have_gone():
                    sent = bytes(range(250)) * 1000
                    assert calls.echo(sent) == sent
                    assert CALLS["consume"](calls) and CALLS["produce"](calls)
                    return lent_bytes(nodes.a) > 50_000 and lent_bytes(nodes.b) > 100_000
                wait_until("bytes that left from where they lay", have_gone, 120)
        finally:
            server.stop()


def a_doctor_who_finds_both_devices_well():
    with verbs_nodes(manifest_with({"add": "direct_write_imm"})) as nodes, \
         Client(nodes, timeout_ms=60_000) as calls:
        def have_gone_by_rdma():
            assert CALLS["add"](calls)
            return by_direct_write_imm(nodes.a) > 0
        wait_until("a call by RDMA", have_gone_by_rdma, 120)
        done = subprocess.run([PROGRAMS / "hatctl", "doctor", "--config", nodes.a.config, "--json"],
                              capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        said = {(one["check"], one["subject"]): one for one in json.loads(done.stdout)["findings"]}

        def says(check, subject, *texts):
            finding = said[check, subject]
            assert finding["verdict"] == "ok", finding
            assert all(text in finding["text"] for text in texts), finding

        says("fabric", "", "hatrpcd uses rxe1, port 1, GID index 1 (::ffff:10.77.0.1)")
        says("fabric", "the running hatrpcd", "verbs: rxe1, port 1, GID index 1")
        for end in "12":
            says("devices", f"rxe{end}", "/dev/infiniband/uverbs")
            says("ports", f"rxe{end} port 1", "Ethernet, ACTIVE, ", f", v{end}")
            says("gids", f"rxe{end} port 1", f"index 1, RoCE v2 over IPv4, ::ffff:10.77.0.{end}")
        says("mtu", "rxe1 port 1", "4096 bytes a packet, v1 has MTU 4200")
        says("modules", "", "rdma_rxe")
        assert any(one["check"] == "peers" and "RDMA lanes up: direct_write_imm" in one["text"]
                   for one in said.values()), done.stdout


class Load:
    """A client that calls until end()."""

    def __init__(self, nodes):
        self.answered, self.lost, self.wrong, self.going = 0, 0, [], True
        self.thread = threading.Thread(target=self.run, args=[nodes])
        self.thread.start()

    def run(self, nodes):
        while self.going and not self.wrong:
            try:
                with Client(nodes, timeout_ms=120_000) as calls:
                    while self.going:
                        self.call(calls)
            except (TTransportException, OSError):  # the connection ended after its lane had failed
                time.sleep(0.1)
            except Exception as error:  # any other exception is an error: a call may fail only with a local reply
                self.wrong.append(repr(error))

    def call(self, calls):
        try:
            if calls.add(self.answered, 1) != self.answered + 1:
                self.wrong.append("another answer")
            self.answered += 1
        except TApplicationException as error:
            assert "hatrpcd: link_lost: RDMA lane" in error.message, error.message
            self.lost += 1

    def end(self):
        self.going = False
        self.thread.join()


def a_link_that_is_cut_and_healed_under_load():
    with verbs_nodes(manifest_with({"add": "direct_write_imm"})) as nodes:
        load = Load(nodes)
        try:
            def by_rdma():
                return by_direct_write_imm(nodes.a)
            wait_until("calls by RDMA", lambda: by_rdma() > 20, 60)
            subprocess.run(["ip", "link", "set", "v2", "down"], check=True)
            answered = load.answered
            wait_until("calls over TCP meanwhile", lambda: load.answered > answered + 20, 60)
            subprocess.run(["ip", "link", "set", "v2", "up"], check=True)
            mac = pathlib.Path("/sys/class/net/v2/address").read_text().strip()
            subprocess.run(["ip", "neigh", "replace", "10.77.0.2", "dev", "v1", "nud", "permanent",
                            "lladdr", mac], check=True)
            subprocess.run(["ip", "route", "replace", "10.77.0.1/32", "dev", "v2", "table", "102"],
                           check=True)
            before = by_rdma()
            wait_until("calls by RDMA again", lambda: by_rdma() > before + 20, 120)
        finally:
            load.end()
        assert not load.wrong, load.wrong
        assert load.lost <= 1, f"{load.lost} calls of one client were lost with one lane"


run_cases("Daemons", (each_protocol_once, rings_that_the_device_gathers_from, a_doctor_who_finds_both_devices_well,
                      a_link_that_is_cut_and_healed_under_load))
