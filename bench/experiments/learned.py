# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/learned.py: compares plans of hints and learned plans with the best plan that can be forced."""

import collections
import contextlib
import json
import urllib.request

from atb import peers
from tool import chart, clock, experiment, ways

BEST = "best forced"
HINTS, LEARNED = peers.SERVICE, peers.LEARNED
CARRIERS = [*peers.every_protocol(), peers.TCP]
POLLINGS = (None, "busy", "event")  # None: as the planner chooses
SHORT_SECONDS = 0.4  # of the measurement of each carrier that selects the candidates
CANDIDATES = 3
CHOICE_ROUNDS = 2  # measurements of each candidate with each polling that choose the best plan


class Learned(peers.Atb):
    """ATB's throughput benchmark. At each point, each peer has its own pair of daemons, with the same hints of load."""

    warm_up = 1.0  # the daemons' threads and memory have been idle since the round before

    def __init__(self, site, pairs, settings):
        def command(point):
            return ["throughput", "--size", point["bytes"], *peers.clients_words(point, settings)]

        super().__init__(site, pairs, "throughput", command, values)
        self.versions = {}
        self.learn_seconds = settings.learn
        self.best = {}  # by point: (carrier, polling)
        self.has_learned = set()  # points

    def measure(self, peer, point, seconds):
        key = key_of(point)
        if peer == BEST and key not in self.best:
            self.best[key] = self.choose(point, seconds)
        if peer == LEARNED and key not in self.has_learned:
            super().measure(peer, point, self.learn_seconds)
            self.has_learned.add(key)
        trials = self.trials(point) if peer == LEARNED else 0
        found = super().measure(peer, point, seconds)
        if peer == BEST:
            carrier, polling = self.best[key]
            return {**found, "carrier": CARRIERS.index(carrier), "polling": POLLINGS.index(polling)}
        return {**found, "trials": self.trials(point) - trials} if peer == LEARNED else found

    def choose(self, point, seconds):
        """Returns the fastest of all forced plans at a point, by measurements that are not compared later."""
        self.best[key_of(point)] = CARRIERS[0], None
        short = {carrier: self.rate((carrier, None), point, SHORT_SECONDS) for carrier in CARRIERS}
        rates = collections.Counter()
        for _ in range(CHOICE_ROUNDS):
            for carrier in sorted(CARRIERS, key=short.get)[-CANDIDATES:]:
                for polling in POLLINGS:
                    rates[carrier, polling] += self.rate((carrier, polling), point, seconds)
        return max(rates, key=rates.get)

    def rate(self, plan, point, seconds):
        """Returns the rate with a forced plan; 0 if it fails, so that one plan does not end the choice."""
        self.best[key_of(point)] = plan
        try:
            return super().measure(BEST, point, seconds)["calls_per_s"]
        except experiment.Failed:
            return 0

    def trials(self, point):
        """Returns the number of trials that the client's daemon has made."""
        admin = self.way_of(LEARNED, point).admins[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{admin}/routes", timeout=10) as page:
            routes = json.load(page)
        return sum(learned["trials"] for service in routes["services"] for function in service["functions"]
                   for learned in function["learned"])

    def way_of(self, peer, point):
        return self.peers[peer, key_of(point)]

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
        node = {**peers.LIMITS, "profile": ways.calibrated(site, server, "Atb").name}

        def pair(peer, size, clients):
            first = HINTS if peer == BEST else peer
            return ways.hatrpcd_pair(site, server, "Atb", peers.manifest_of(first, "throughput", size, clients),
                                     settings.local, node=node)

        yield Learned(site, ways.Peers({
            (peer, key): lambda peer=peer, key=key: pair(peer, *key)
            for peer in (BEST, HINTS, LEARNED) for key in map(key_of, points(settings))}), settings)


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
           "p99_us": experiment.Unit("µs", "lower", "Latency, p99"), **clock.UNITS, **peers.COSTS,
           "trials": experiment.Unit("trials", "neither", "of learned plans, with the warm-up"),
           "carrier": experiment.Unit("number", "neither", f"what carries the best forced plan: {', '.join(CARRIERS)}"),
           "polling": experiment.Unit("number", "neither", "of the best forced plan: as planned, busy, event")},
    clocks=(clock.Clock(("p50_us", "p99_us")),), measures=peers.MEASURES,
    charts=[chart.Lines("calls_per_s", "clients", "Calls per second", log_x=True, log_y=True)],
    goals=goals,
    notes="All processes share one machine. Without an RDMA device the daemons exchange messages through shared "
          "memory. All set-ups have the hints of the load's payload and concurrency, perf_goal throughput, and the costs that "
          "hatctl calibrate has measured first, with a pair of daemons that has no other work. "
          f"“Best forced” is chosen at each point. A measurement of {SHORT_SECONDS:g} s of each of {len(CARRIERS)} "
          f"carriers (each RDMA protocol, and TCP) selects {CANDIDATES}. Each of these is measured {CHOICE_ROUNDS} "
          "times with the planner's polling mode, with busy and with event, and the fastest plan is “best forced” in "
          "all rounds. The measurements of the choice do not count, so the best is not the best by chance; but where "
          "several plans are nearly as fast, it may be the second best. Learned plans may use larger slots than a "
          "forced protocol has. They learn before their first measurement, and continue to try other choices.")
