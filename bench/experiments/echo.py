# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/echo.py: calls a C++ echo server directly, through two HAProxies, and through two hatrpcds.

Floors (bench/floors) show what this machine allows.
"""

import contextlib

from tool import chart, clock, experiment, ways

# By peer: the fabric between the two hatrpcds, and the service's hint. Without an RDMA device, `auto` is the loop
# fabric (shared memory).
LANES = {"hatrpcd, TCP lanes": ("tcp", {}),
         "hatrpcd, latency": ("auto", {"perf_goal": "latency"}),
         "hatrpcd, throughput": ("auto", {"perf_goal": "throughput"}),
         "hatrpcd, event": ("auto", {"polling": "event"})}

# By kind of connection, and by peer: a program of bench/floors, and its last arguments. A measurement is the best of
# these.
FLOORS = {"tcp": {"floor": ("tcp_floor", [(-1, "tcp"), (0, "tcp"), (20, "tcp")])},
          "unix": {"floor": ("tcp_floor", [(-1, "unix"), (0, "unix"), (20, "unix")])},
          "shm": {"floor": ("ring_floor", [(20, 20)]),
                  "floor, nobody polls": ("ring_floor", [(0, 0)])}}


def floors(settings):
    """Returns the floors of a run. A floor cannot place its processes on different cores."""
    return {} if settings.split else FLOORS[settings.local]


def peers(settings):
    rings = ["direct, rings"] if settings.local == "shm" else []
    return ["direct", *rings, "HAProxy pair", *LANES, *floors(settings)]


def points(settings):
    return [{"bytes": size, "clients": clients}
            for size in settings.bytes for clients in settings.clients]


class Echo:
    def __init__(self, peers):
        self.peers = peers
        self.versions = {"HAProxy": ways.haproxy_version()}

    def measure(self, peer, point, seconds):
        found, cpu_us = self.peers[peer].measure(point, seconds)
        return {"calls_per_s": found["calls_per_s"], "p50_us": found["p50"], "p99_us": found["p99"],
                **clock.values(found), "client_cpu_us": found["cpu_us"], **cpu_us}


class Clients:
    """A peer whose calls echo_client makes, through one way."""

    def __init__(self, site, way):
        self.site, self.way = site, way

    def measure(self, point, seconds):
        """Returns the client's output, and the CPU time per call of the other processes."""
        before = self.way.cpu_seconds_each()
        found = self.site.client([self.site.programs / "echo_client", self.way.address,
                                  point["clients"], point["bytes"], seconds], seconds, self.way.variables)
        us_per_call = 1e6 / (found["calls_per_s"] * seconds)
        used = {role: (now - before[role]) * us_per_call for role, now in self.way.cpu_seconds_each().items()}
        return found, {**{f"{role}_cpu_us": us for role, us in used.items()},
                       "sidecar_cpu_us": sum(us for role, us in used.items() if role != "server")}


class Floor:
    """A peer that is one program: client, both relays and server."""

    def __init__(self, site, program, choices):
        self.site, self.program, self.choices = site, site.programs / program, choices

    def measure(self, point, seconds):
        """Returns what Clients.measure() returns, of the choice of arguments with the most calls.

        A floor has only the sum of both relays.
        """
        found = [self.site.client([self.program, point["clients"], point["bytes"], seconds, *choice],
                                  seconds) for choice in self.choices]
        best = max(found, key=lambda one: one["calls_per_s"])
        return best, {key: best[key] for key in ("sidecar_cpu_us", "server_cpu_us")}


@contextlib.contextmanager
def open_peers(settings):
    cores = ways.half_each() if settings.split else ways.all_cores()
    with ways.Site(settings, cores, settings.nice) as site:
        sockets = "tcp" if settings.local == "shm" else settings.local  # HAProxy has no rings

        def server_on(local):
            address = "0" if local == "tcp" else site.address(local, "server")
            return site.server([settings.programs / "echo_server", address])

        def hatrpcd(fabric, hint):
            manifest = ways.manifest("Echo", {"echo": {}, "bulk": {}}, hint)
            return ways.hatrpcd_pair(site, own, "Echo", manifest, settings.local, fabric)

        server = server_on(sockets)
        own = server_on("shm") if settings.local == "shm" else server
        start = {"direct": lambda: ways.direct(server),
                 "direct, rings": lambda: ways.direct(own),
                 "HAProxy pair": lambda: ways.haproxy_pair(site, server, sockets),
                 **{name: lambda lanes=lanes: hatrpcd(*lanes) for name, lanes in LANES.items()}}
        yield Echo(ways.Peers({
            **{name: lambda way=way: Clients(site, way()) for name, way in start.items()},
            **{name: lambda floor=floor: Floor(site, *floor)
               for name, floor in floors(settings).items()}}))


ONE, LARGE = {"bytes": 64, "clients": 1}, {"bytes": 131072, "clients": 16}
LATENCY, EVENT = "hatrpcd, latency", "hatrpcd, event"
DIRECT, HAPROXY, FLOOR, SLEEPING_FLOOR = "direct", "HAProxy pair", "floor", "floor, nobody polls"
WORDS = {DIRECT: "direct TCP", HAPROXY: "the HAProxy pair", FLOOR: "the floor",
         SLEEPING_FLOOR: "the floor whose threads never poll"}
# The processes of a call, by the value that has their CPU time per call.
CPU = {"client_cpu_us": "the client", "client_sidecar_cpu_us": "the client's sidecar",
       "server_sidecar_cpu_us": "the server's sidecar", "server_cpu_us": "the server"}
CPU_UNITS = {**{key: experiment.Unit("µs", "lower", f"CPU per call: {words}") for key, words in CPU.items()},
             "sidecar_cpu_us": experiment.Unit("µs", "lower", "CPU per call: both sidecars")}


def goals(options):
    """Returns the goals of a run with sockets, or of a run with rings, as the run's options say."""
    def p50(at_most, to):
        return experiment.Goal(f"64 B, 1 client: p50 of “{LATENCY}” ÷ p50 of {WORDS[to]}", "p50_us",
                               LATENCY, ONE, to, at_most=at_most)

    def rate(at_least, to, point, peer=LATENCY):
        size = "64 B" if point["bytes"] == 64 else "128 KiB"
        clients = "1 client" if point["clients"] == 1 else f"{point['clients']} clients"
        return experiment.Goal(f"{size}, {clients}: calls/s of “{peer}” ÷ calls/s of {WORDS[to]}",
                               "calls_per_s", peer, point, to, at_least=at_least)

    def rates(to, peer=LATENCY, **at_least):
        return [rate(ratio, to, {"bytes": 64, "clients": int(clients[1:])}, peer)
                for clients, ratio in at_least.items()]

    def cpu(peer):
        return [experiment.Goal(f"64 B, 256 clients: CPU per call of {words}, “{peer}” ÷ the same for 16 clients", key,
                                peer, {"bytes": 64, "clients": 256}, to_point={"bytes": 64, "clients": 16},
                                at_most=1.33) for key, words in CPU.items()]

    if options.get("--local") == "shm":
        floor = [] if "--split" in options else [
            *rates(FLOOR, _1=0.75, _4=0.7, _16=0.6, _64=0.5, _256=0.5),
            *rates(SLEEPING_FLOOR, EVENT, _1=0.5, _4=0.5, _16=0.5, _64=0.6, _256=0.6)]
        return [*floor, p50(0.1, DIRECT), p50(0.1, HAPROXY),
                *rates(DIRECT, _4=0.9, _16=1.1, _64=1.2, _256=1.2),
                *rates(HAPROXY, _4=6, _16=5, _64=4, _256=4),
                rate(0.8, DIRECT, LARGE), rate(3, HAPROXY, LARGE), *cpu(LATENCY), *cpu(EVENT)]
    floor = [] if "--split" in options else rates(FLOOR, _4=0.8, _16=0.8, _64=0.8, _256=0.8)
    return [*floor, p50(0.5, DIRECT), *rates(HAPROXY, _1=1.1, _4=1.1, _16=1.1, _64=1.1, _256=1.1),
            *cpu(LATENCY)]


EXPERIMENT = experiment.Experiment(
    name="echo", title="Echo through the sidecars",
    question="What does a pair of sidecars cost a C++ echo server: hatrpcd compared with HAProxy?",
    peers=peers, points=points, open=open_peers, seconds=1.5, rounds=5,
    options=[
        experiment.Option("--local", "connection between each application and the sidecar of its host: "
                          "sockets, or rings of shared memory", "tcp", ways.LOCALS),
        experiment.Option("--split", "run the client's host on one half of the cores, and the server's on "
                          "the other", False),
        experiment.Option("--nice", "niceness of the sidecars; below 0 needs root", 0),
        experiment.Option("--clients", "number of clients that call at the same time", [1, 4, 16, 64, 256],
                          quick=[1, 16]),
        experiment.Option("--bytes", "sizes of request and reply", [64, 131072], quick=[64])],
    units={"calls_per_s": experiment.Unit("calls/s", "higher", "calls per second"),
           "p50_us": "µs", "p99_us": "µs", **clock.UNITS, **CPU_UNITS},
    charts=[chart.Lines("calls_per_s", "clients", "Calls per second", to=HAPROXY, log_x=True),
            chart.Lines("p50_us", "clients", "Latency, p50", to=HAPROXY, log_x=True, log_y=True),
            chart.Lines("sidecar_cpu_us", "clients", "CPU of both sidecars, per call", to=HAPROXY,
                        peers=(HAPROXY, *LANES, *FLOORS["shm"]), log_x=True),
            *[chart.Lines(key, "clients", f"CPU of {words}, per call", to=HAPROXY, log_x=True,
                          peers=(HAPROXY, *LANES) if "sidecar" in key else ()) for key, words in CPU.items()]],
    goals=goals, clocks=(clock.Clock(("p50_us", "p99_us")),), measures=(*ways.CODE, *ways.ECHO, "bench/floors"),
    notes="All processes share one machine and use loopback: the numbers show the cost of the daemons, "
          "and nothing about RDMA devices. Each client has one connection and one call at a time. The "
          "first fifth of a measurement is warm-up and does not count. A floor makes the same calls "
          "without Thrift, through two relays that only copy messages: it shows what this machine allows. "
          "With sockets, each measurement of the floor is the best of three: its relays never sleep, sleep "
          "at once, or sleep after 20 attempts.")
