# SPDX-License-Identifier: Apache-2.0
"""bench/tool/clock.py: whether latencies and rates of one load can both be true: Little's law.

Clients in a closed loop do one of two things: they wait for a call, or they prepare the next one. So
clients ÷ calls per second is the mean time of a call plus the mean time between two calls of a
client. Latencies that leave calls out, as those that never ended, break this.
"""

import dataclasses
from typing import Callable

from tool.experiment import Unit
from tool.words import number

TOLERANCE = 0.10
MARK = "†"
# The longest call of a result that has quantiles and no mean: so many times its measurement.
LONGEST = 2

# What our load programs say of their clients (bench/account.h), and how it is shown.
UNITS = {"mean_us": Unit("µs", "lower", "mean of all calls"),
         "think_us": Unit("µs", "neither", "of a client between two calls, mean"),
         "fewest": Unit("calls", "higher", "of the client with the fewest"),
         "most": Unit("calls", "neither", "of the client with the most"),
         "cut_off": Unit("calls", "neither", "cut off by the end")}


def values(found, prefix=""):
    """These values of what a load program printed."""
    return {prefix + key: found[key] for key in UNITS}


def units(prefix="", words=""):
    return {prefix + key: Unit(unit.label, unit.better, f"{words}: {unit.words}" if words else unit.words)
            for key, unit in UNITS.items()}


@dataclasses.dataclass(frozen=True)
class Clock:
    """One load of an experiment, and which of its values are of it."""
    latencies: tuple  # keys of the values that the load's calls took
    clients: Callable = lambda point: point.get("clients", 1)  # of a point: how many there are
    prefix: str = ""  # of its keys: bulk_calls_per_s, bulk_mean_us …
    # (values, peer) -> (calls per second, mean) of all calls, of results from before load programs
    # printed them; None for each that is not known.
    old: Callable = lambda values, peer: (values.get("calls_per_s"), None)

    def judge(self, row, seconds):
        """Verdict of one measurement that has values."""
        values = row["values"]
        mean = values.get(f"{self.prefix}mean_us")
        if mean is None:
            return self.judge_old(row, seconds)
        return compared(self.wanted_us(row, values[f"{self.prefix}calls_per_s"]),
                        mean + values[f"{self.prefix}think_us"])

    def wanted_us(self, row, rate):
        return self.clients(row["point"]) / rate * 1e6

    def judge_old(self, row, seconds):
        values = row["values"]
        rate, mean = self.old(values, row["peer"])
        if not rate:
            return Verdict(None, "no rate")
        wanted = self.wanted_us(row, rate)
        if mean is not None:
            return compared(wanted, mean)
        if values.get("fewest") == 0:
            return Verdict(False, "a client got no call at all, and its wait is in no latency")
        if "p50_us" not in values or "p99_us" not in values:
            return Verdict(None, "no mean")
        least = 0.5 * values["p50_us"]
        most = least + 0.49 * values["p99_us"] + 0.01 * LONGEST * seconds * 1e6
        if wanted * (1 + TOLERANCE) < least or wanted > most * (1 + TOLERANCE):
            return Verdict(False, f"clients ÷ calls/s is {number(wanted)} µs; with such quantiles the "
                                  f"mean is {number(least)} to {number(most)} µs")
        return Verdict(None, "no mean; the quantiles allow it")


def compared(wanted, said):
    """Whether what the rate wants is what the latencies say."""
    if said > 0 and abs(wanted / said - 1) <= TOLERANCE:
        return Verdict(True)
    return Verdict(False, f"clients ÷ calls/s is {number(wanted)} µs, and calls and the time between "
                          f"them take {number(said)} µs")


@dataclasses.dataclass(frozen=True)
class Verdict:
    holds: bool | None  # None: what would be compared was not measured
    why: str = ""


def judged(results, experiment):
    """[(row, Clock, Verdict)] of all that was measured."""
    if isinstance(experiment.clocks, str):
        return []
    return [(row, clock, clock.judge(row, results.facts["seconds"]))
            for row in results.rows if row.get("values") for clock in experiment.clocks]


def broken(results, experiment):
    """{(peer, its point as text, key)} of all latencies that the law contradicts in some round."""
    return {(row["peer"], str(row["point"]), key)
            for row, clock, verdict in judged(results, experiment) if verdict.holds is False
            for key in clock.latencies}


def summary(results, experiment):
    """One sentence: of how many measurements the law was checked, and where it does not hold."""
    if isinstance(experiment.clocks, str):
        return f"Little's law is not checked: {experiment.clocks}."
    found = [verdict for _, _, verdict in judged(results, experiment)]
    count = {holds: sum(one.holds is holds for one in found) for holds in (True, False, None)}
    parts = []
    if count[True]:
        parts.append(f"holds in {count[True]:,}")
    if count[False]:
        parts.append(f"does not hold in {count[False]:,}, whose latencies are marked {MARK}: they leave "
                     "out calls, or the clients did more than call, or the measurement was too short")
    if count[None]:
        whys = sorted({one.why for one in found if one.holds is None})
        parts.append(f"cannot be checked in {count[None]:,} ({'; '.join(whys)})")
    return (f"Little's law (clients ÷ calls/s = mean latency, within {TOLERANCE:.0%}), of {len(found):,} "
            f"loads: {'; '.join(parts)}.").replace("10%", "10 %")
