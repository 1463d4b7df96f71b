# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/recorded_load.py: threads that make calls with unique ids, and record the outcome of each call.

The servers record the calls that they execute (recording_server.py), so that a test can compare both records.
"""

import dataclasses
import itertools
import re
import time

from caller_threads import CallerThreads

OK = "ok"
CONNECTION_S = 5  # as in pools of connections, which replace a connection after some time
THREADS = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Call:
    name: str  # the call's id
    idempotent: bool
    began: float  # time.monotonic()
    ended: float
    server: str  # the name of the server that has answered; empty after a failure
    outcome: str  # OK, hatrpcd's reason for its exception, or the text of another exception


class RecordedLoad(CallerThreads):
    """Threads that call until the block ends. A context manager.

    `hosts`: for each thread, the host on which its client runs. open_client() returns a client's context manager.
    Each thread makes its calls one after the other, with a pause after each. It calls echo_text and echo in turn; echo
    is idempotent. It connects again after `connection_s`, and after a failure that ends its connection.
    """

    def __init__(self, hosts, open_client, pause, connection_s=CONNECTION_S):
        self.open_client, self.pause, self.connection_s = open_client, pause, connection_s
        self.calls = []
        super().__init__([(host, next(THREADS)) for host in hosts])

    def run(self, host, number):
        host.enter_with_this_thread()
        count = 0
        while self.going:
            try:
                with self.open_client() as client:
                    connected, end = True, time.monotonic() + self.connection_s
                    while self.going and connected and time.monotonic() < end:
                        count += 1
                        connected = self.call(client, f"{number}-{count}", count % 2 == 0)
                        time.sleep(self.pause)
            except Exception as error:  # of any kind: the client could not connect
                now = time.monotonic()
                self.calls.append(Call(f"{number}-connect", False, now, now, "", f"no connection: {error!r}"))
                time.sleep(self.pause)

    def call(self, client, name, idempotent):
        """Makes a call; returns False if the connection has ended."""
        began, server, connected = time.monotonic(), "", True
        try:
            answer = client.echo(name.encode()).decode() if idempotent else client.echo_text(name)
            server, _, echoed = answer.partition(" ")
            outcome = OK if echoed == name else f"another call's answer: {answer}"
        except Exception as error:  # of any kind: it is a call that has failed
            reason = re.search(r"hatrpcd: (\w+): ", str(error))
            outcome = reason[1] if reason else repr(error)
            connected = reason is not None
        self.calls.append(Call(name, idempotent, began, time.monotonic(), server, outcome))
        return connected

    def rate(self, begin, end, server=None):
        """Returns the answered calls in each second between two times."""
        found = [call for call in list(self.calls) if call.outcome == OK and begin <= call.ended < end]
        return sum(server in (None, call.server) for call in found) / (end - begin)
