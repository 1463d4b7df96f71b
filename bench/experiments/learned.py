# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/learned.py: compares plans of hints and learned plans with the best plan that can be forced."""

import collections
import contextlib

from atb import peers
from tool import chart, clock, experiment, ways

BEST = "best forced"
HINTS, LEARNED = peers.SERVICE, peers.LEARNED
FORCED = [peers.forcing(carrier) for carrier in [*peers.every_protocol(), peers.TCP]]
SHORT_SECONDS = 0.4  # of the measurement that selects the candidates
CANDIDATES = 3
CHOICE_ROUNDS = 2  # measurements of each candidate that choose the best one


class Learned(peers.Atb):
    """ATB's throughput benchmark. Each point has its own pair of daemons that learn, so that it learns only once."""

    def __init__(self, site, pairs, settings):
        def command(point):
            return ["throughput", "--size", point["bytes"], *peers.clients_words(point, settings)]

        super().__init__(site, pairs, "throughput", command, values)
        self.versions = {}
        self.learn_seconds = settings.learn
        self.best = {}  # by point
        self.has_learned = set()  # points

    def measure(self, peer, point, seconds):
        key = key_of(point)
        if peer == BEST:
            if key not in self.best:
                self.best[key] = self.choose(point, seconds)
            peer = self.best[key]
        elif peer == LEARNED and key not in self.has_learned:
            self.has_learned.add(key)
            super().measure(peer, point, self.learn_seconds)
        return super().measure(peer, point, seconds)

    def choose(self, point, seconds):
        """Returns the fastest of all forced plans at a point, by measurements that are not compared later."""
        short = {peer: self.rate(peer, point, SHORT_SECONDS) for peer in FORCED}
        rates = collections.Counter()
        for _ in range(CHOICE_ROUNDS):
            for peer in sorted(FORCED, key=short.get)[-CANDIDATES:]:
                rates[peer] += self.rate(peer, point, seconds)
        return max(rates, key=rates.get)

    def rate(self, peer, point, seconds):
        return super().measure(peer, point, seconds)["calls_per_s"]

    def way_of(self, peer, point):
        return self.peers[(peer, key_of(point)) if peer == LEARNED else peer]


def key_of(point):
    return point["bytes"], point["clients"]


def points(settings):
    return [{"bytes": size, "clients": clients} for size in settings.bytes for clients in settings.clients]


def values(found):
    line = found["results"][0]
    return {"p50_us": line["p50_us"], "p99_us": line["p99_us"], **peers.account(found)}


@contextlib.contextmanager
def open_peers(settings):
    with ways.Site(settings) as site:
        server = peers.start_server(site, settings.local)

        def pair(peer, point):
            return ways.hatrpcd_pair(site, server, "Atb", peers.manifest_of(peer, "throughput", **point),
                                     settings.local, node=peers.LIMITS)

        any_point = {"size": 512, "clients": 1}
        yield Learned(site, ways.Peers({
            **{peer: lambda peer=peer: pair(peer, any_point) for peer in [HINTS, *FORCED]},
            **{(LEARNED, (size, clients)): lambda point={"size": size, "clients": clients}: pair(LEARNED, point)
               for size, clients in map(key_of, points(settings))}}), settings)


def goals(_):
    return [experiment.Goal(f"{size} B, {clients} clients: calls/s of “{peer}” ÷ calls/s of “{BEST}”", "calls_per_s",
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
           "p99_us": experiment.Unit("µs", "lower", "Latency, p99"), **clock.UNITS, **peers.COSTS},
    clocks=(clock.Clock(("p50_us", "p99_us")),), measures=peers.MEASURES,
    charts=[chart.Lines("calls_per_s", "clients", "Calls per second", log_x=True, log_y=True)],
    goals=goals,
    notes="All processes share one machine. Without an RDMA device the daemons exchange messages through shared "
          "memory. “Best forced” is one of 14 plans: each RDMA protocol, and TCP. At each point, a measurement of "
          f"{SHORT_SECONDS:g} s of each selects {CANDIDATES} candidates, and the fastest of these in {CHOICE_ROUNDS} "
          "more measurements is “best forced” in all rounds. The measurements of the choice do not count, so that the "
          "best is not the best by chance. All set-ups have the hints of the load's payload and concurrency, and "
          "perf_goal throughput.")
