# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/learned.py: compares plans of hints and learned plans with the best plan that can be forced."""

import contextlib

from atb import peers
from tool import chart, clock, experiment, forced, ways
from tool.forced import BEST, key_of

HINTS, LEARNED = peers.SERVICE, peers.LEARNED
CARRIERS = [*peers.every_protocol(), peers.TCP]


class Learned(forced.Judge, peers.Atb):
    """ATB's throughput benchmark. At each point, each peer has its own pair of daemons, with the same hints of load."""

    warm_up = 1.0  # the daemons' threads and memory have been idle since the round before

    def __init__(self, site, pairs, settings):
        def command(point):
            return ["throughput", "--size", point["bytes"], *peers.clients_words(point, settings)]

        forced.Judge.__init__(self, CARRIERS, LEARNED, settings.learn)
        peers.Atb.__init__(self, site, pairs, "throughput", command, values)
        self.versions = {}

    def measure_once(self, peer, point, seconds):
        return peers.Atb.measure(self, peer, point, seconds)

    def manifest(self, peer, point):
        if peer != BEST:
            return super().manifest(peer, point)
        carrier, polling = self.best[key_of(point)]
        manifest = super().manifest(peers.forcing(carrier), point)
        if polling is not None:
            manifest["services"]["Atb"]["hint"]["polling"] = polling
        return manifest

    def wanted_share(self, peer, point, counts):
        carrier = peers.forcing(self.best[key_of(point)][0]) if peer == BEST else peer
        return super().wanted_share(carrier, point, counts)


def points(settings):
    return [{"bytes": size, "clients": clients} for size in settings.bytes for clients in settings.clients]


def values(found):
    line = found["results"][0]
    return {"p50_us": line["p50_us"], "p99_us": line["p99_us"], **peers.account(found)}


@contextlib.contextmanager
def open_peers(settings):
    with ways.Site(settings) as site:
        server = peers.start_server(site, settings.local)
        node = {**peers.LIMITS, "profile": ways.calibrated(site, server, "Atb").name}

        def pair(peer, size, clients):
            first = HINTS if peer == BEST else peer
            return ways.hatrpcd_pair(site, server, "Atb", peers.manifest_of(first, "throughput", size, clients),
                                     settings.local, node=node)

        yield Learned(site, ways.Peers({
            (peer, key): lambda peer=peer, key=key: pair(peer, *key)
            for peer in (BEST, HINTS, LEARNED) for key in map(key_of, points(settings))}), settings)


def goals(_):
    return [experiment.Goal(f"{size} B, {ways.clients(clients)}: calls/s of “{peer}” ÷ calls/s of “{BEST}”", "calls_per_s",
                            peer, {"bytes": size, "clients": clients}, BEST, at_least=at_least)
            for peer, at_least in ((HINTS, 0.9), (LEARNED, 0.95)) for size in (512, 131072)
            for clients in (1, 4, 16, 64, 256)]


EXPERIMENT = experiment.Experiment(
    name="learned", title="Learned plans",
    question="Are plans from hints, and plans that the daemon learns, as fast as the best plan that can be forced?",
    peers=[BEST, HINTS, LEARNED], points=points, open=open_peers, seconds=1.0, rounds=5, warm_up=0,
    options=[
        peers.LOCAL, peers.PROCESSES,
        experiment.Option("--bytes", "payloads of request and answer", [512, 131072], quick=[512]),
        experiment.Option("--clients", "how many call at once", [1, 4, 16, 64, 256], quick=[4]),
        experiment.Option("--learn", "seconds of load at each point, before the first measurement of learned plans",
                          30.0, quick=3.0)],
    units={"calls_per_s": experiment.Unit("calls/s", "higher", "Calls per second"),
           "p50_us": experiment.Unit("µs", "lower", "Latency, p50"),
           "p99_us": experiment.Unit("µs", "lower", "Latency, p99"), **clock.UNITS, **peers.COSTS,
           **forced.units(CARRIERS)},
    clocks=(clock.Clock(("p50_us", "p99_us")),), measures=peers.MEASURES,
    charts=[chart.Lines("calls_per_s", "clients", "Calls per second", log_x=True, log_y=True)],
    goals=goals,
    notes="All processes share one machine. Without an RDMA device the daemons exchange messages through shared "
          "memory. All set-ups have the hints of the load's payload and concurrency, perf_goal throughput, and the costs that "
          "hatctl calibrate has measured first, with a pair of daemons that has no other work. "
          + forced.notes(CARRIERS))
