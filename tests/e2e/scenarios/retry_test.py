# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/retry_test.py: calls that the client's daemon sends again after a failure."""

import re
import signal
import time

import yaml

from fleet import LINK_PORT, Fleet, add, main_in_a_network_namespace
from setting import Callers, Client, TApplicationException, manifest
from nodes import ask, wait_until

PEERS = {f"host-{number}": {"link": f"tcp:127.0.0.{number}:{LINK_PORT}"} for number in (2, 3)}


def count(node, metric):
    """Returns the sum of all series of the metric."""
    status, page = ask(node.admin, "GET", "/metrics")
    assert status == 200, page
    return sum(int(value) for value in re.findall(rf"^{metric}(?:{{.*}})? (\d+)$", page, re.MULTILINE))


class Retry(Fleet):
    def start(self, mode, **limits):
        self.peers = [self.start_peer(number, mode=mode) for number in (2, 3)]
        return self.start_client(PEERS, workers=1, limits=limits)

    def test_a_call_that_no_server_has_seen_goes_to_another_peer(self):
        for mode in ("mirror", "shared"):
            with self.subTest(mode):
                client = self.start(mode)
                self.servers[2].stop()
                for _ in range(3):
                    self.call_from_new_clients(10)
                    time.sleep(1.1)  # until new clients no longer avoid host-2
                self.assertGreaterEqual(count(client, "hatrpc_retries_total"), 1)
                self.assertEqual(count(client, "hatrpc_local_replies_total"), 0)
                self.assertGreaterEqual(count(client, "hatrpc_peer_ejections_total"), 1)
                for node in (client, *self.peers):
                    self.assertEqual(node.stop(), 0)
                for folder in self.folder.glob("host-*"):
                    folder.rename(folder.with_name(f"{mode}-{folder.name}"))

    def test_without_retries_the_call_fails(self):
        client = self.start("mirror", retry_percent=0)
        self.servers[2].stop()
        with self.assertRaisesRegex(TApplicationException, "upstream_unreachable"):
            self.call_from_new_clients(2)
        self.assertEqual(count(client, "hatrpc_retries_total"), 0)

    def test_idempotent_calls_survive_daemons_that_are_killed(self):
        text = yaml.safe_load(manifest())
        text["services"]["Probe"]["functions"]["add"]["hint"] = {"idempotent": True}
        (self.folder / "manifests" / "probe.yaml").write_text(yaml.safe_dump(text), encoding="utf-8")
        client = self.start("shared", peer_wait="10s")
        with Callers(self.nodes, 8, add) as load:
            for peer in self.peers * 2:
                carried = load.calls
                wait_until("the load runs", lambda before=carried: load.calls > before + 300)
                peer.stop(signal.SIGKILL)
                carried = load.calls
                wait_until("the load runs", lambda before=carried: load.calls > before + 300)
                peer.start()
                wait_until("the link is up again", client.links_are_up)
        self.assertEqual(load.errors, [])
        self.assertGreaterEqual(count(client, "hatrpc_retries_total"), 1)


if __name__ == "__main__":
    main_in_a_network_namespace()
