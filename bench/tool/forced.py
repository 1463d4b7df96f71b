# SPDX-License-Identifier: Apache-2.0
"""bench/tool/forced.py: compares plans of hints, and learned plans, with the best plan that can be forced on all calls.

A plan is a pair: what carries the calls (a protocol, or TCP), and the polling mode, or None if the planner chooses it.
"""

import collections

from tool import experiment

BEST = "best forced"
SHORT_SECONDS = 0.4  # of the measurement of each carrier that selects the candidates
CANDIDATES = 3
CHOICE_ROUNDS = 2  # measurements of each candidate with each polling mode that choose the best plan
POLLINGS = (None, "busy", "event")


class Judge:
    """A setup (bench/tool/experiment.py) with the peers BEST, `learned`, and others.

    Each peer has its own pair of daemons at each point. A subclass defines the method measure_once(peer, point, seconds), which
    makes one measurement, with the plan self.best[key_of(point)] if the peer is BEST; and self.peers, a ways.Peers of
    (peer, key_of(point)).
    """

    def __init__(self, carriers, learned, learn_seconds):
        self.carriers, self.learned, self.learn_seconds = carriers, learned, learn_seconds
        self.best = {}  # plans, by point
        self.has_learned = set()  # points

    def measure(self, peer, point, seconds):
        key = key_of(point)
        if peer == BEST and key not in self.best:
            self.best[key] = self.choose(point, seconds)
        if peer == self.learned and key not in self.has_learned:
            self.measure_once(peer, point, self.learn_seconds)
            self.has_learned.add(key)
        trials = self.way_of(peer, point).trials() if peer == self.learned else 0
        found = self.measure_once(peer, point, seconds)
        if peer == BEST:
            carrier, polling = self.best[key]
            return {**found, "carrier": self.carriers.index(carrier), "polling": POLLINGS.index(polling)}
        return {**found, "trials": self.way_of(peer, point).trials() - trials} if peer == self.learned else found

    def choose(self, point, seconds):
        """Returns the plan with the highest rate at a point, by measurements that are not compared later."""
        short = {carrier: self.rate((carrier, None), point, SHORT_SECONDS) for carrier in self.carriers}
        rates = collections.Counter()
        for _ in range(CHOICE_ROUNDS):
            for carrier in sorted(self.carriers, key=short.get)[-CANDIDATES:]:
                for polling in POLLINGS:
                    rates[carrier, polling] += self.rate((carrier, polling), point, seconds)
        return max(rates, key=rates.get)

    def rate(self, plan, point, seconds):
        """Returns the rate with a forced plan; 0 if it fails, so that one plan does not end the choice."""
        self.best[key_of(point)] = plan
        try:
            return self.measure_once(BEST, point, seconds)["calls_per_s"]
        except experiment.Failed:
            return 0

    def way_of(self, peer, point):
        return self.peers[peer, key_of(point)]


def key_of(point):
    return tuple(point.values())


def units(carriers):
    """Returns the units of the values that measure() adds."""
    return {"trials": experiment.Unit("trials", "neither", "of learned plans, in the measurement"),
            "carrier": experiment.Unit("number", "neither", f"what carries the best forced plan: {', '.join(carriers)}"),
            "polling": experiment.Unit("number", "neither", "of the best forced plan: as planned, busy, event")}


def notes(carriers):
    return (f"“Best forced” is chosen at each point. A measurement of {SHORT_SECONDS:g} s of each of {len(carriers)} "
            f"carriers (each RDMA protocol, and TCP) selects {CANDIDATES}. Each of these is measured {CHOICE_ROUNDS} "
            "times with the planner's polling mode, with busy and with event, and the fastest plan is “best forced” in "
            "all rounds. The measurements of the choice do not count, so the best is not the best by chance; but where "
            "several plans are nearly as fast, it may be the second best. Learned plans may use larger slots than a "
            "forced protocol has. They learn before their first measurement, and continue to try other choices.")
