# SPDX-License-Identifier: Apache-2.0
"""bench/nic/services.py: the services of a measurement. Each forces one way of a call by the hints of its function.

All services have the function `echo`, and the same echo server. A client chooses the way of its calls by the endpoint
to which it connects. Both hosts make the same manifest from the same Load.
"""

import dataclasses

from engine.engine_bench import PROTOCOLS

TCP = "TCP"
PLANNED, MEASURED = "planner", "planner, measured costs"
PEERS = (TCP, *PROTOCOLS, PLANNED, MEASURED)
DESK = "desk"  # the service that answers questions about its host, over HTTP (serve.py)


@dataclasses.dataclass(frozen=True)
class Load:
    """The sizes of the payloads in bytes, and the number of clients for throughput; latency has one client."""
    payloads: tuple
    clients: int

    def points(self):
        return [{"bytes": size, "clients": clients} for clients in (1, self.clients) for size in self.payloads]


def name_of(peer, point):
    """Returns the name of the service that carries the calls of a set-up at a point."""
    if peer in (PLANNED, MEASURED):
        return f"{'latency' if point['clients'] == 1 else 'throughput'}_{point['bytes']}"
    return f"{peer.lower()}_{point['bytes']}"


def manifest(load):
    """Returns the manifest. The forced ways have the polling mode that the planner chooses for latency."""
    forced = {TCP: {"transport": "tcp"}, **{protocol: {"protocol": protocol} for protocol in PROTOCOLS}}
    services = {}
    for point in load.points():
        goal = "latency" if point["clients"] == 1 else "throughput"
        hints = {**{peer: {**hint, "polling": "busy"} for peer, hint in forced.items()},
                 PLANNED: {"perf_goal": goal, "concurrency": point["clients"]}}
        for peer, hint in hints.items():
            function = {"hint": {**hint, "payload_size": f"{point['bytes']}B"}}
            services[name_of(peer, point)] = {"functions": {"echo": function}}
    return {"services": services}


def rendezvous_of(protocol):
    """Returns the name under which hatrpcd counts messages that are too large for a slot of the protocol."""
    return "read_rndv" if protocol in ("ar_grpc", "read_rndv") else "write_rndv"


def is_as_wanted(peer, request_protocol):
    """Returns True if a request that `request_protocol` carried went in the way that the set-up is meant to measure."""
    if peer == TCP:
        return request_protocol == "tcp"
    if peer in PROTOCOLS:
        return request_protocol in (peer, rendezvous_of(peer))
    return request_protocol != "tcp"
