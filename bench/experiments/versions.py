# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/versions.py: calls a C++ echo server through two hatrpcds of this version, and of another one.

Before the measurements, the other version is built from git's history, into build/versions.
"""

import contextlib
import pathlib
import sys

from tool import chart, clock, experiment, ways

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "versions"))

import build_previous  # noqa: E402

BEFORE, NOW = "before", "now"
# By lanes: the fabric between the two hatrpcds, and the service's hint.
LANES = {"tcp": ("tcp", {}), "latency": ("auto", {"perf_goal": "latency"}),
         "throughput": ("auto", {"perf_goal": "throughput"}), "event": ("auto", {"polling": "event"})}


def points(settings):
    return [{"bytes": size, "clients": clients} for size in settings.bytes for clients in settings.clients]


def programs_of(version):
    """Builds hatrpcd of a version as it is packaged, and returns the folder that has it."""
    try:
        commit = build_previous.commit_of(version)
        return build_previous.build(commit, ROOT / "build" / "versions" / commit, "optimized", ["hatrpcd"])
    except build_previous.Failed as failure:
        raise experiment.Failed(str(failure)) from failure


class Versions:
    def __init__(self, site, peers, before):
        self.site, self.peers = site, peers
        self.versions = {BEFORE: build_previous.commit_of(before)}

    def measure(self, peer, point, seconds):
        return ways.echo_calls(self.site, self.peers[peer], point, seconds)


@contextlib.contextmanager
def open_peers(settings):
    programs = {BEFORE: programs_of(settings.before), NOW: settings.programs}
    with ways.Site(settings) as site:
        server = site.server([settings.programs / "echo_server", site.address(settings.local, "server")
                              if settings.local != "tcp" else "0"])
        fabric, hint = LANES[settings.lanes]
        manifest = ways.manifest("Echo", {"echo": {}, "bulk": {}}, hint)
        yield Versions(site, ways.Peers({
            name: lambda folder=folder: ways.hatrpcd_pair(site, server, "Echo", manifest, settings.local, fabric,
                                                          programs=folder)
            for name, folder in programs.items()}), settings.before)


EXPERIMENT = experiment.Experiment(
    name="versions", title="Two versions of hatrpcd",
    question="Has the cost of a call through a pair of sidecars changed since another version of hatrpcd?",
    peers=[BEFORE, NOW], points=points, open=open_peers, seconds=1.5, rounds=9,
    options=[
        experiment.Option("--before", "the other version: a tag or a commit, or \"previous\", the version with which "
                          "tests check that versions work together", "previous"),
        experiment.Option("--lanes", "what carries calls between the two hatrpcds: tcp, or RDMA lanes with the plans "
                          "of a hint (without an RDMA device: the loop fabric)", "latency", tuple(LANES)),
        experiment.Option("--local", "connection between each application and the sidecar of its host: "
                          "sockets, or rings of shared memory", "tcp", ways.LOCALS),
        experiment.Option("--clients", "number of clients that call at the same time", [1, 4, 16, 64], quick=[1, 16]),
        experiment.Option("--bytes", "sizes of request and reply", [64, 131072], quick=[64])],
    units={"calls_per_s": experiment.Unit("calls/s", "higher", "calls per second"),
           "p50_us": "µs", "p99_us": "µs", **clock.UNITS,
           "sidecar_cpu_us": experiment.Unit("µs", "lower", "CPU per call: both sidecars")},
    charts=[chart.Lines("calls_per_s", "clients", "Calls per second", to=BEFORE, log_x=True),
            chart.Lines("sidecar_cpu_us", "clients", "CPU of both sidecars, per call", to=BEFORE, log_x=True)],
    clocks=(clock.Clock(("p50_us", "p99_us")),), measures=(*ways.CODE, *ways.ECHO),
    notes="Clients and server are the same programs for both versions. All processes share one machine and use "
          "loopback. Each client has one connection and one call at a time.")
