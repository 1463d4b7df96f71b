# SPDX-License-Identifier: Apache-2.0
"""bench/tool/clock.py: checks by Little's law whether the measured latencies and rate of a load fit together.

Each client makes one call at a time: at any moment it waits for a call, or is between two calls. Therefore clients ÷
calls per second must equal the mean time of a call plus the mean time between two calls of a client. If the latencies
leave calls out, such as calls that never ended, the two values differ.
"""

import dataclasses
from typing import Callable

from tool.experiment import Unit
from tool.words import number

TOLERANCE = 0.10
MARK = "†"
# For a result that has quantiles but no mean, no call is assumed to take longer than LONGEST times the measurement.
LONGEST = 2

# The values that this project's load programs print about their clients (bench/account.h), and their units.
UNITS = {"mean_us": Unit("µs", "lower", "mean of all calls"),
         "think_us": Unit("µs", "neither", "of a client between two calls, mean"),
         "fewest": Unit("calls", "higher", "of the client with the fewest"),
         "most": Unit("calls", "neither", "of the client with the most"),
         "cut_off": Unit("calls", "neither", "cut off by the end")}


def values(found, prefix=""):
    """Picks the values of UNITS from the output of a load program."""
    return {prefix + key: found[key] for key in UNITS}


def units(prefix="", words=""):
    return {prefix + key: Unit(unit.label, unit.better, f"{words}: {unit.words}" if words else unit.words)
            for key, unit in UNITS.items()}


@dataclasses.dataclass(frozen=True)
class Clock:
    """Describes one load of an experiment: its number of clients, and the keys of its values."""
    latencies: tuple  # keys of the values that are latencies of the load's calls
    clients: Callable = lambda point: point.get("clients", 1)  # returns the number of clients at a point
    prefix: str = ""  # the prefix of the load's keys, such as "bulk_" in bulk_calls_per_s
    # A function (values, peer) -> (calls per second, mean time) for old results, whose load programs printed no mean.
    # An unknown value is None.
    old: Callable = lambda values, peer: (values.get("calls_per_s"), None)

    def judge(self, row, seconds):
        """Returns the Verdict on one measurement. Its row must have values, and not an error."""
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
            return Verdict(None, "the run kept no rate")
        wanted = self.wanted_us(row, rate)
        if mean is not None:
            return compared(wanted, mean)
        if values.get("fewest") == 0:
            return Verdict(False, "a client got no call at all, and its wait is in no latency")
        if "p50_us" not in values or "p99_us" not in values:
            return Verdict(None, "the run kept no mean")
        least = 0.5 * values["p50_us"]
        most = least + 0.49 * values["p99_us"] + 0.01 * LONGEST * seconds * 1e6
        if wanted * (1 + TOLERANCE) < least or wanted > most * (1 + TOLERANCE):
            return Verdict(False, f"clients ÷ calls/s is {number(wanted)} µs; with such quantiles the "
                                  f"mean is {number(least)} to {number(most)} µs")
        return Verdict(None, "the run kept no mean, and the quantiles do not contradict the law")


def compared(wanted, said):
    """Returns the Verdict on `wanted`, the time from the rate, and `said`, the time from the latencies, in µs."""
    if said > 0 and abs(wanted / said - 1) <= TOLERANCE:
        return Verdict(True)
    return Verdict(False, f"clients ÷ calls/s is {number(wanted)} µs, and calls and the time between "
                          f"them take {number(said)} µs")


@dataclasses.dataclass(frozen=True)
class Verdict:
    holds: bool | None  # whether Little's law holds; None: values that the law needs were not measured
    why: str = ""


def judged(results, experiment):
    """Returns [(row, Clock, Verdict)] for each load of each measurement that has values."""
    if isinstance(experiment.clocks, str):
        return []
    return [(row, clock, clock.judge(row, results.facts["seconds"]))
            for row in results.rows if row.get("values") for clock in experiment.clocks]


def broken(results, experiment):
    """Returns {(peer, point as text, key)}: the latencies that the law contradicts in at least one round."""
    return {(row["peer"], str(row["point"]), key)
            for row, clock, verdict in judged(results, experiment) if verdict.holds is False
            for key in clock.latencies}


def summary(results, experiment):
    """Returns a sentence that says for how many loads the law was checked, and for how many it does not hold."""
    if isinstance(experiment.clocks, str):
        return f"Little's law is not checked: {experiment.clocks}."
    found = [verdict for _, _, verdict in judged(results, experiment)]
    count = {holds: sum(one.holds is holds for one in found) for holds in (True, False, None)}
    parts = []
    if count[True]:
        parts.append(f"holds in {count[True]:,}")
    if count[False]:
        parts.append(f"does not hold in {count[False]:,}, whose latencies are marked {MARK} (the latencies "
                     "leave out calls, or the clients did other work too, or the measurement was too short)")
    if count[None]:
        whys = sorted({one.why for one in found if one.holds is None})
        parts.append(f"cannot be checked in {count[None]:,} ({'; '.join(whys)})")
    return (f"Little's law (clients ÷ calls/s = mean latency, within {TOLERANCE:.0%}), checked for each of "
            f"{len(found):,} loads: {'; '.join(parts)}.").replace("10%", "10 %")
