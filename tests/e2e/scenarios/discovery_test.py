# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/discovery_test.py: peers and upstreams that are names, with a real DNS server whose answers change.

All programs run in a network namespace, where the DNS server dnsmasq has port 53.
"""

import contextlib
import json
import socket
import subprocess
import time

from fleet import ENDPOINT, LINK_PORT, Fleet, add, main_in_a_network_namespace, run
from setting import PROGRAMS, Callers, Client, calls_in, edit, start_server
from certificates import Certificates
from network import DnsServer, hosts
from nodes import ask, wait_until

DNS = "127.0.0.53"
KV = {"kv": {"link": f"dns:kv.example:{LINK_PORT}"}}  # in `peers` of a configuration
RESOLV_CONF = f"nameserver {DNS}\nsearch example\n"


class Discovery(Fleet):
    def setUp(self):
        super().setUp()
        self.dns = DnsServer(DNS)
        self.addCleanup(self.dns.stop)

    def calibrate(self, node, peer):
        """Returns the exit status and the output of `hatctl calibrate`."""
        done = subprocess.run([PROGRAMS / "hatctl", "--socket", node.admin, "calibrate", peer], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def test_daemons_come_and_go_under_load(self):
        peers = {number: self.start_peer(number) for number in (2, 3, 4)}
        name = {number: f"kv@127.0.0.{number}:{LINK_PORT}" for number in peers}
        self.dns.set(*hosts("kv.example", "127.0.0.2"))
        # A search domain completes the name. One worker, which takes the peers in turn.
        client = self.start_client({"kv": {"link": f"dns:kv:{LINK_PORT}"}}, workers=1)
        self.assertEqual(self.peers_up(client), {name[2]}, "the names are known before the first call")
        with Callers(self.nodes, 4, add) as load:
            wait_until("the load runs", lambda: load.calls > 100)
            self.dns.set(*hosts("kv.example", "127.0.0.2", "127.0.0.3", "127.0.0.4"))
            self.wait_for_peers(client, *name.values())
            self.call_from_new_clients(9)
            for number in (3, 4):
                self.assertGreaterEqual(calls_in(peers[number]), 3, "a third of the new clients")
            self.dns.set(*hosts("kv.example", "127.0.0.3"))
            self.wait_for_peers(client, name[3])
            before, carried = calls_in(peers[3]), load.calls
            self.call_from_new_clients(9)
            self.assertEqual(calls_in(peers[3]), before + 9)
            wait_until("the connections that exist stay where they are", lambda: load.calls > carried + 100)
            self.assertGreater(sum(len(link["lanes"]) for link in client.get("/status")["links"]), 0, "RDMA lanes")
        self.assertEqual(load.errors, [])

    def test_a_dns_server_that_fails_takes_no_address_away(self):
        self.start_peer(2)
        self.dns.set(*hosts("kv.example", "127.0.0.2"))
        client = self.start_client(KV)
        name = f"dns:kv.example:{LINK_PORT}"
        with Callers(self.nodes, 2, add) as load:
            self.dns.stop()
            wait_until("a lookup has failed", lambda: client.get("/status")["names"][0]["error"])
            [known] = client.get("/status")["names"]
            self.assertEqual(known["addresses"], [f"tcp:127.0.0.2:{LINK_PORT}"])
            self.assertIn("the last good answer stays in use", client.log())
            page = ask(client.admin, "GET", "/metrics")[1]
            self.assertIn(f'hatrpc_discovery_addresses{{name="{name}"}} 1\n', page)
            self.assertIn(f'hatrpc_discovery_failing{{name="{name}"}} 1\n', page)
            self.call_from_new_clients(2)
            self.dns.set()  # the name no longer exists, which counts as a failure too
            wait_until("the answer is that the name does not exist",
                       lambda: "not found" in client.get("/status")["names"][0]["error"])
            self.call_from_new_clients(2)
            self.dns.set(*hosts("kv.example", "127.0.0.2"))
            wait_until("the name is known again", lambda: not client.get("/status")["names"][0]["error"], 40)
        self.assertEqual(load.errors, [])

    def test_a_dns_server_that_is_silent_at_the_start(self):
        self.start_peer(2)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind((DNS, 53))
            began = time.monotonic()
            client = self.start_client(KV, limits={"connect_timeout": "60s"})
            self.assertLess(time.monotonic() - began, 10)
            self.assertIn("has not been looked up yet", client.get("/status")["links"][0]["last_error"])
        self.dns.set(*hosts("kv.example", "127.0.0.2"))
        self.wait_for_peers(client, f"kv@127.0.0.2:{LINK_PORT}")

    def test_a_reload_puts_names_in_the_place_of_addresses_under_load(self):
        peer = self.start_peer(2)
        upstream = json.loads(peer.config.read_text())["serves"]["Probe"]["upstream"].removeprefix("tcp:127.0.0.1:")
        self.dns.set(*hosts("kv.example", "127.0.0.2"), *hosts("server.example", "127.0.0.1"))
        client = self.start_client({"host-2": {"link": f"tcp:127.0.0.2:{LINK_PORT}"}})
        with Callers(self.nodes, 4, add) as load:
            wait_until("the load runs", lambda: load.calls > 100)
            for node, change in (
                    (client, lambda config: config["peers"]["host-2"].update(link=f"dns:kv.example:{LINK_PORT}")),
                    (peer, lambda config: config["serves"]["Probe"].update(upstream=f"tcp:server.example:{upstream}"))):
                edit(node, change)
                self.assertEqual(ask(node.admin, "POST", "/reload")[0], 200)
                self.assertTrue(node.get("/status")["names"][0]["addresses"], "the reload has waited for the answer")
                self.call_from_new_clients(4)
        self.assertEqual(load.errors, [])
        self.wait_for_peers(client, f"host-2@127.0.0.2:{LINK_PORT}")

    def test_a_takeover_and_a_change_of_names_under_load(self):
        self.start_peer(2)
        self.start_peer(3)
        self.dns.set(*hosts("kv.example", "127.0.0.2"))
        client = self.start_client(KV)
        with Callers(self.nodes, 4, add) as load:
            wait_until("the load runs", lambda: load.calls > 100)
            self.dns.set(*hosts("kv.example", "127.0.0.2", "127.0.0.3"))
            old = client.take_over()
            self.wait_for_peers(client, f"kv@127.0.0.2:{LINK_PORT}", f"kv@127.0.0.3:{LINK_PORT}")
            self.assertEqual(old.wait(30), 0)
            carried = load.calls
            wait_until("the load runs", lambda: load.calls > carried + 100)
        self.assertEqual(load.errors, [])

    def test_a_group_with_certificates(self):
        with Certificates(PROGRAMS, "host-a", "kv", "host-3") as certificates:
            self.start_peer(2, link=certificates.tls("kv"))
            self.start_peer(3, link=certificates.tls("host-3"))
            self.dns.set(*hosts("kv.example", "127.0.0.2", "127.0.0.3"))
            client = self.start_client(KV, link=certificates.tls("host-a"))
            self.wait_for_peers(client, f"kv@127.0.0.2:{LINK_PORT}")
            errors = {link["peer"]: link["last_error"] for link in client.get("/status")["links"] if link["state"] == "down"}
            self.assertIn("host-3", errors[f"kv@127.0.0.3:{LINK_PORT}"], "its certificate lacks the name of the group")
            self.call_from_new_clients(4)

    def test_a_node_that_is_in_the_group_that_it_calls(self):
        other = self.start_peer(2)
        self.dns.set(*hosts("kv.example", "127.0.0.2", "127.0.0.3"))
        own = self.start_peer(3, workers=1, peers={"kv": {"link": f"dns:kv.example:{LINK_PORT}", "serves": ["Probe"]}},
                              endpoints=[{"listen": f"tcp:{ENDPOINT}", "service": "Probe"}])
        self.wait_for_peers(own, f"kv@127.0.0.2:{LINK_PORT}", f"kv@127.0.0.3:{LINK_PORT}")
        self.call_from_new_clients(4)
        self.assertEqual([calls_in(node) for node in (other, own)], [2, 2])
        status, output = self.calibrate(own, "kv")
        self.assertEqual(status, 0, output)
        self.assertIn("kv@127.0.0.2", output)
        status, output = self.calibrate(own, f"kv@127.0.0.3:{LINK_PORT}")
        self.assertEqual(status, 1, output)
        self.assertIn("is this node itself", output)

    def test_calls_wait_for_a_name_that_comes_late(self):
        self.start_peer(2)
        client = self.start_client(KV, limits={"peer_wait": "20s"})
        with Callers(self.nodes, 2, add) as load:
            self.assertIn("kv.example", client.get("/status")["links"][0]["last_error"])
            self.dns.set(*hosts("kv.example", "127.0.0.2"))
            self.wait_for_peers(client, f"kv@127.0.0.2:{LINK_PORT}")
            wait_until("the calls run", lambda: load.calls > 100)
        self.assertEqual(load.errors, [])

    def test_a_call_to_an_unknown_name_fails_and_says_why(self):
        self.dns.set()
        self.start_client(KV, limits={"peer_wait": "10ms"})
        with Client(self.nodes) as calls:
            error = self.assert_fails(lambda: calls.add(1, 1), "peer_unreachable")
        self.assertRegex(error.message, r"kv at dns:kv\.example:7471: the lookup of 'kv\.example' has failed: ")

    def test_a_service_with_ports_priorities_and_an_ipv6_address(self):
        run("ip", "address", "add", "fd00::2/128", "dev", "lo")
        self.addCleanup(run, "ip", "address", "del", "fd00::2/128", "dev", "lo")
        peers = [self.start_peer(2, port=7001), self.start_peer(3, address="[fd00::2]", port=7002),
                 self.start_peer(4, port=7003)]
        service = "--srv-host=_hatrpcd._tcp.example"
        self.dns.set(*hosts("two.example", "127.0.0.2"), *hosts("three.example", "fd00::2"),
                     *hosts("four.example", "127.0.0.4"), f"{service},two.example,7001,1", f"{service},three.example,7002,1",
                     f"{service},four.example,7003,2")
        client = self.start_client({"kv": {"link": "srv:_hatrpcd._tcp.example"}}, workers=1)
        self.wait_for_peers(client, "kv@127.0.0.2:7001", "kv@[fd00::2]:7002")
        self.call_from_new_clients(8)
        self.assertEqual([calls_in(peer) for peer in peers], [4, 4, 0], "the priority number of host-4 is higher")
        self.dns.set(*hosts("four.example", "127.0.0.4"), f"{service},four.example,7003,2")
        self.wait_for_peers(client, "kv@127.0.0.4:7003")

    def test_many_addresses_which_need_an_answer_by_tcp(self):
        self.start_peer(2)
        self.dns.set(*hosts("kv.example", "127.0.0.2"), *hosts("many.example", *(f"127.0.1.{i}" for i in range(1, 101))))
        client = self.start_client(KV)
        edit(client, lambda config: config["peers"].update(many={"link": "dns:many.example:1"}))
        self.assertEqual(ask(client.admin, "POST", "/reload")[0], 200)
        wait_until("all addresses are known",
                   lambda: 'hatrpc_discovery_addresses{name="dns:many.example:1"} 100\n'
                   in ask(client.admin, "GET", "/metrics")[1])

    def test_an_upstream_whose_first_address_refuses(self):
        server = start_server("127.0.0.7:0")
        self.addCleanup(server.stop)
        port = server.addresses[0].rpartition(":")[2]
        self.dns.set(*hosts("kv.example", "127.0.0.6", "127.0.0.7"))
        for mode in ("mirror", "shared"):
            with self.subTest(mode):
                peer = self.start_node({
                    "node": f"host-{mode}", "link": {"listen": f"tcp:127.0.0.2:{LINK_PORT}", "insecure": True},
                    "serves": {"Probe": {"upstream": f"tcp:kv.example:{port}", "mode": mode}}})
                client = self.start_client({f"host-{mode}": {"link": f"tcp:127.0.0.2:{LINK_PORT}"}}, node=f"client-{mode}")
                self.call_from_new_clients(3)
                client.stop()
                peer.stop()

    def test_an_upstream_that_is_several_servers(self):
        servers = [start_server(f"127.0.0.{number}:{9190 + number}") for number in (6, 7, 8)]
        for server in servers:
            self.addCleanup(server.stop)
        service = "--srv-host=_kv._tcp.example"
        self.dns.set(*(record for number in (6, 7, 8) for record in (
            *hosts(f"server-{number}.example", f"127.0.0.{number}"), f"{service},server-{number}.example,{9190 + number},1")))
        self.start_node({"node": "host-2", "workers": 1, "link": {"listen": f"tcp:127.0.0.2:{LINK_PORT}", "insecure": True},
                         "serves": {"Probe": {"upstream": "srv:_kv._tcp.example"}}})
        self.start_client({"host-2": {"link": f"tcp:127.0.0.2:{LINK_PORT}"}}, workers=1)
        with contextlib.ExitStack() as stack:
            for _ in range(9):
                calls = stack.enter_context(Client(self.nodes))
                calls.note("several")
                calls.add(1, 1)  # the server has handled the call before
            counts = []
            for server in servers:
                with Client(None, address=server.addresses[0]) as calls:
                    counts.append(calls.count("several"))
        self.assertEqual(counts, [3, 3, 3])

    def test_an_upstream_that_moves(self):
        first, second = start_server("127.0.0.6:9191"), start_server("127.0.0.7:9191")
        self.addCleanup(second.stop)
        self.dns.set(*hosts("kv.example", "127.0.0.6"))
        peer = self.start_node({"node": "host-2", "link": {"listen": f"tcp:127.0.0.2:{LINK_PORT}", "insecure": True},
                                "serves": {"Probe": {"upstream": "tcp:kv.example:9191", "mode": "shared"}}})
        self.start_client({"host-2": {"link": f"tcp:127.0.0.2:{LINK_PORT}"}})
        with Callers(self.nodes, 4, add) as load:
            wait_until("the load runs", lambda: load.calls > 100)
            self.dns.set(*hosts("kv.example", "127.0.0.7"))
            wait_until("the new address is used", lambda: "the changed addresses are in use" in peer.log())
            carried = load.calls
            wait_until("calls go to the new address", lambda: load.calls > carried + 100)
            first.stop()
            wait_until("calls run", lambda: load.calls > carried + 200)
        self.assertEqual(load.errors, [])

    def test_a_name_in_etc_hosts(self):
        self.start_peer(2, address="127.0.0.1")
        client = self.start_client({"kv": {"link": f"dns:localhost:{LINK_PORT}"}})
        self.assertIn(f"kv@127.0.0.1:{LINK_PORT}", self.peers_up(client))
        self.call_from_new_clients(4)


if __name__ == "__main__":
    main_in_a_network_namespace("dnsmasq", files=[("/etc/resolv.conf", RESOLV_CONF)])
