# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/preload.py: compares unmodified programs with the preloaded library with programs that use rings."""

import contextlib

from experiments import echo
from tool import chart, clock, experiment, ways

RINGS, PRELOADED = "hatrpcd, TShmSocket", "hatrpcd, preloaded"
# By peer: the kind of addresses of client and server, and whether two hatrpcds are between them.
SOCKETS = {"direct, TCP": ("tcp", False), "direct, unix sockets": ("unix", False),
           "hatrpcd, TCP": ("tcp", True), "hatrpcd, unix sockets": ("unix", True), RINGS: ("shm", True)}


@contextlib.contextmanager
def open_peers(settings):
    with ways.Site(settings) as site:
        program = site.programs / "echo_server"
        manifest = ways.manifest("Echo", {"echo": {}}, {"perf_goal": "latency"})

        def way(local, through_hatrpcds):
            server = site.server([program, site.address(local, "server"), "interruptible"])
            if not through_hatrpcds:
                return ways.direct(server)
            return ways.hatrpcd_pair(site, server, "Echo", manifest, local)

        start = {**{name: lambda kind=kind: way(*kind) for name, kind in SOCKETS.items()},
                 PRELOADED: lambda: ways.preloaded_pair(site, program, "Echo", manifest, "interruptible")}
        yield echo.Echo(ways.Peers({name: lambda made=made: echo.Clients(site, made())
                                    for name, made in start.items()}))


EXPERIMENT = experiment.Experiment(
    name="preload", title="The preloaded library",
    question="How many calls do unmodified programs make with the preloaded library, compared with programs that use "
             "TShmSocket?",
    peers=[*SOCKETS, PRELOADED], open=open_peers, seconds=1.5, rounds=5,
    points=lambda settings: [{"bytes": size, "clients": clients}
                             for size in settings.bytes for clients in settings.clients],
    options=[
        experiment.Option("--clients", "number of clients that call at the same time", [1, 16, 64]),
        experiment.Option("--bytes", "sizes of request and reply", [64, 131072], quick=[64])],
    units={"calls_per_s": experiment.Unit("calls/s", "higher", "calls per second"),
           "p50_us": "µs", "p99_us": "µs", **clock.UNITS, **echo.CPU_UNITS},
    charts=[chart.Lines("calls_per_s", "clients", "Calls per second", to=RINGS, log_x=True),
            chart.Lines("p50_us", "clients", "Latency, p50", to=RINGS, log_x=True, log_y=True)],
    goals=[experiment.Goal(f"64 B, {words}: calls/s of “{PRELOADED}” ÷ calls/s of “{RINGS}”", "calls_per_s",
                           PRELOADED, {"bytes": 64, "clients": clients}, RINGS, at_least=0.8)
           for clients, words in ((1, "1 client"), (16, "16 clients"), (64, "64 clients"))],
    clocks=(clock.Clock(("p50_us", "p99_us")),), measures=(*ways.CODE, *ways.ECHO),
    notes="All processes share one machine and use loopback. Client and server use the same kind of connection in each "
          "set-up. With the preloaded library they are the programs of the TCP set-ups, without a change, and both use "
          "rings. The server can interrupt its connections, as is Thrift's default: each of its reads waits in poll(2) "
          "for the socket and for an interrupt. The service has the hint for latency. Each client has one connection and one call at a time. The "
          "first fifth of a measurement is warm-up and does not count.")
