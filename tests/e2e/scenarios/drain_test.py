# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/drain_test.py: on SIGTERM the daemon of either side finishes the calls in flight."""

import signal
import threading

from setting import Client, Scenario, main, probe_nodes
from nodes import ask, wait_until
from thrift.transport import TTransport


class Drain(Scenario):
    CLIENTS = 8

    def drain_during_calls(self, choose):
        with probe_nodes() as nodes:
            answers, began = [], threading.Barrier(self.CLIENTS + 1)

            def call():
                with Client(nodes) as calls:
                    calls.add(1, 2)
                    began.wait()
                    try:
                        answers.append(calls.slow(1000))
                    except Exception as error:  # the call was lost; the comparison below shows why
                        answers.append(repr(error))

            threads = [threading.Thread(target=call) for _ in range(self.CLIENTS)]
            for thread in threads:
                thread.start()
            began.wait()
            threading.Event().wait(0.3)  # until all calls have reached the server
            status = choose(nodes).stop(signal.SIGTERM)
            for thread in threads:
                thread.join()
            self.assertEqual(answers, [1000] * self.CLIENTS)
            self.assertEqual(status, 0)
            return nodes

    def test_of_the_clients_node(self):
        self.drain_during_calls(lambda nodes: nodes.a)

    def test_of_the_servers_node(self):
        self.drain_during_calls(lambda nodes: nodes.b)

    def test_refuses_new_clients_at_once(self):
        with probe_nodes() as nodes:
            began = threading.Event()

            def call():
                with Client(nodes) as calls:
                    calls.add(1, 2)
                    began.set()
                    calls.slow(1500)

            thread = threading.Thread(target=call)
            thread.start()
            began.wait()
            threading.Event().wait(0.2)  # until the slow call has been sent
            nodes.a.process.send_signal(signal.SIGTERM)
            wait_until("host-a drains", lambda: ask(nodes.a.admin, "GET", "/readyz")[0] == 503)
            for service in nodes.endpoints:
                with self.assertRaises(TTransport.TTransportException):
                    Client(nodes, service).__enter__()
            self.assertIsNone(nodes.a.process.poll(), "the daemon must not end before the slow call")
            thread.join()
            self.assertEqual(nodes.a.wait(), 0)


if __name__ == "__main__":
    main()
