# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/reload_node_test.py: changes hatrpcd.yaml while calls run; no call may fail."""

import json
import re
import socket

from setting import (PROGRAMS, Callers, Client, Scenario, calls_in, edit, hatrpc_address, main, probe_nodes,
                     start_server)
from free_ports import free_ports
from nodes import Node, ask, wait_until


def add(calls, number):
    assert calls.add(number, 1) == number + 1


class ReloadNode(Scenario):
    def reload(self, node):
        """Reloads, and returns the lines of the answer."""
        status, body = ask(node.admin, "POST", "/reload")
        self.assertEqual(status, 200, body)
        return json.loads(body)["changes"]

    def start_host_c(self, nodes, server):
        [link] = free_ports(1)
        node = Node(PROGRAMS, nodes.folder, {
            "node": "host-c", "link": {"listen": f"tcp:127.0.0.1:{link}", "insecure": True},
            "serves": {"Probe": {"upstream": hatrpc_address(server.addresses[0])}}})
        node.start()
        self.addCleanup(node.stop)
        return node, f"tcp:127.0.0.1:{link}"

    def start_server(self):
        server = start_server()
        self.addCleanup(server.stop)
        return server

    def peers_up(self, node):
        return {link["peer"] for link in node.get("/status")["links"] if link["up"]}

    def test_a_peer_comes_and_another_goes_under_load(self):
        with probe_nodes() as nodes, Callers(nodes, 4, add) as load:
            host_c, link = self.start_host_c(nodes, self.start_server())
            wait_until("the load runs", lambda: load.calls > 100)

            def join(config):
                config["peers"]["host-c"] = {"link": link}
                config["endpoints"][0]["peers"] = ["host-b", "host-c"]

            edit(nodes.a, join)
            changes = self.reload(nodes.a)
            self.assertIn(f"peers.host-c: added, {link}", changes)
            wait_until("the link to host-c is up", lambda: self.peers_up(nodes.a) == {"host-b", "host-c"})
            for number in range(1, 9):
                with Client(nodes) as calls:
                    add(calls, number)
            self.assertGreaterEqual(calls_in(host_c), 4, "half of the new clients")

            def leave(config):
                del config["peers"]["host-b"]
                config["endpoints"][0]["peers"] = ["host-c"]

            edit(nodes.a, leave)
            self.assertIn("peers.host-b: removed", self.reload(nodes.a))
            self.assertEqual(self.peers_up(nodes.a), {"host-c"})
            before, carried = calls_in(host_c), load.calls
            for number in range(1, 9):
                with Client(nodes) as calls:
                    add(calls, number)
            self.assertEqual(calls_in(host_c), before + 8)
            wait_until("the connections that exist stay with host-b", lambda: load.calls > carried + 100)
        self.assertEqual(load.errors, [])

    def test_a_file_adds_a_peer_and_its_end_removes_the_peer(self):
        with probe_nodes() as nodes:
            host_c, link = self.start_host_c(nodes, self.start_server())
            peers = nodes.a.folder / "peers.d"
            peers.mkdir()

            def read_peers_from_files(config):
                del config["peers"]
                del config["endpoints"][0]["peers"]
                config["peer_files"] = ["peers.d"]

            edit(nodes.a, read_peers_from_files)
            self.assertIn("peers.host-b: removed", self.reload(nodes.a))
            with Client(nodes) as calls:
                self.assert_fails(lambda: calls.add(1, 1), "peer_unreachable")
            host_c_serves = json.dumps({"host-c": {"link": link, "serves": ["Probe"]}})
            (peers / "host-c.yaml").write_text(host_c_serves, encoding="utf-8")
            wait_until("the daemon has read the file", lambda: self.peers_up(nodes.a) == {"host-c"})
            with Client(nodes) as calls:
                add(calls, 1)
                self.assertEqual(calls_in(host_c), 1)
                (peers / "host-c.yaml").unlink()
                wait_until("the peer has gone", lambda: self.peers_up(nodes.a) == set())
                add(calls, 2)

    def test_an_endpoint_comes_and_goes_under_load(self):
        with probe_nodes() as nodes, Callers(nodes, 2, add) as load:
            [port] = free_ports(1)
            address = f"127.0.0.1:{port}"
            listen = {"listen": f"tcp:{address}", "service": "Probe", "peers": ["host-b"]}
            edit(nodes.a, lambda config: config["endpoints"].insert(0, listen))
            self.assertEqual(self.reload(nodes.a), [f"endpoint tcp:{address}: added, offers Probe of peers [host-b]"])
            with Client(nodes, address=address) as calls:
                add(calls, 1)
                edit(nodes.a, lambda config: config["endpoints"].pop(0))
                self.assertEqual(self.reload(nodes.a), [f"endpoint tcp:{address}: removed"])
                add(calls, 2)
                wait_until("the endpoint's socket is closed", lambda: self.is_refused(port))
                add(calls, 3)
            carried = load.calls
            wait_until("the other endpoint still works", lambda: load.calls > carried + 100)
        self.assertEqual(load.errors, [])

    @staticmethod
    def is_refused(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) != 0

    def test_shared_calls_move_to_another_server_under_load(self):
        with probe_nodes(modes={"Probe": {"mode": "shared"}}) as nodes, Callers(nodes, 4, add) as load:
            old, new = self.start_server(), self.start_server()
            for server in (old, new, old, new):
                upstream = hatrpc_address(server.addresses[0])
                edit(nodes.b, lambda config: config["serves"]["Probe"].update(upstream=upstream))
                [change] = self.reload(nodes.b)
                self.assertRegex(change, rf"^serves\.Probe\.upstream: .* → {upstream}$")
                carried = load.calls
                wait_until("calls run", lambda: load.calls > carried + 100)
            old.process.kill()  # the load no longer uses it
            carried = load.calls
            wait_until("calls run", lambda: load.calls > carried + 100)
        self.assertEqual(load.errors, [])

    def test_a_changed_limit_is_applied_by_the_watch_over_the_files(self):
        with probe_nodes() as nodes:
            edit(nodes.a, lambda config: config.update(limits={"max_connections": 1}))
            wait_until("the daemon has read the file",
                       lambda: "limits.max_connections: 16384 → 1" in nodes.a.log())

    def test_a_reload_changes_the_series_of_the_metrics(self):
        def page():
            status, text = ask(nodes.a.admin, "GET", "/metrics")
            self.assertEqual(status, 200)
            return text

        def bounds():
            return re.findall(r'^hatrpc_request_duration_seconds_bucket{.*thrift_method="add".*le="(.*)"} ', page(),
                              re.MULTILINE)

        with probe_nodes() as nodes, Client(nodes) as calls:
            add(calls, 1)
            self.assertEqual(len(bounds()), 25)
            self.assertRegex(page(), r"(?m)^hatrpc_metrics_page_seconds 0?\.?\d*[1-9]", "of the page before")
            edit(nodes.a, lambda config: config["admin"].update(duration_buckets=["1us", "4096us"], max_functions=1))
            changes = self.reload(nodes.a)
            self.assertTrue(any("admin.duration_buckets" in line for line in changes), changes)
            self.assertEqual(bounds(), ["1e-06", "0.004096", "+Inf"])
            self.assertEqual(calls.echo(b"x"), b"x")
            self.assertIn('thrift_method="_more"', page(), "of echo, because add has the only place")
            self.assertIn('hatrpc_functions_summed{series="client"} 1\n', page())
            self.assertIn("metrics: more functions have series than admin.max_functions allows (1)", nodes.a.log())

    def test_a_change_that_needs_a_takeover_is_named_and_nothing_is_applied(self):
        with probe_nodes() as nodes:
            good = nodes.a.config.read_text(encoding="utf-8")

            def change(config):
                config["workers"] = 2
                config["limits"] = {"max_connections": 1}

            edit(nodes.a, change)
            status, body = ask(nodes.a.admin, "POST", "/reload")
            self.assertEqual(status, 409)
            self.assertIn("a reload cannot apply these changes", body)
            self.assertRegex(body, r"workers: \d+ → 2")
            self.assertIn(f"kill -USR2 {nodes.a.process.pid}", body)
            with Client(nodes) as one, Client(nodes) as other:
                add(one, 1)
                add(other, 1)
            nodes.a.config.write_text(good, encoding="utf-8")
            self.assertEqual(self.reload(nodes.a), [])

    def test_nothing_is_applied_if_an_address_is_taken(self):
        with probe_nodes() as nodes, socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"tcp:127.0.0.1:{taken.getsockname()[1]}"

            def change(config):
                config["endpoints"].append({"listen": address, "service": "Probe", "peers": ["host-b"]})
                config["limits"] = {"max_connections": 1}

            edit(nodes.a, change)
            status, body = ask(nodes.a.admin, "POST", "/reload")
            self.assertEqual(status, 409)
            self.assertIn(address, body)
            self.assertIn("in use", body)
            self.assertEqual(len(nodes.a.get("/status")["endpoints"]), 1)
            with Client(nodes) as one, Client(nodes) as other:
                add(one, 1)
                add(other, 1)

    def test_a_takeover_after_reloads_loses_no_call(self):
        with probe_nodes() as nodes, Callers(nodes, 4, add) as load:
            host_c, link = self.start_host_c(nodes, self.start_server())
            wait_until("the load runs", lambda: load.calls > 100)
            edit(nodes.a, lambda config: config["peers"].update({"host-c": {"link": link}}))
            self.reload(nodes.a)
            edit(nodes.a, lambda config: config["endpoints"][0].update(peers=["host-c", "host-b"]))
            self.reload(nodes.a)
            edit(nodes.b, lambda config: config["serves"]["Probe"].update(max_connections=99))
            self.reload(nodes.b)
            old = [nodes.a.take_over(), nodes.b.take_over()]
            carried = load.calls
            wait_until("calls run", lambda: load.calls > carried + 100)
            self.assertEqual(calls_in(host_c), 0)
        self.assertEqual(load.errors, [])
        for process in old:
            self.assertEqual(process.wait(timeout=60), 0)


if __name__ == "__main__":
    main()
