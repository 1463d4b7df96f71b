# SPDX-License-Identifier: Apache-2.0
"""bench/tool/noise.py: what a run measures where there is no difference: its noise floor.

The A/A control is the first peer, measured twice in each round as if it were two. Their ratio should
be 1. The furthest from 1 that it is at any point is the run's noise floor: two peers that differ by
less are not told apart.
"""


def pairs(results, experiment):
    """[(a peer, another)] that are the same."""
    control = results.facts.get("control")
    return ([(control["peer"], control["of"])] if control else []) + [
        pair for pair in experiment.same_code if set(pair) <= set(results.peers)]


def floor(results, experiment, key):
    """As a ratio, 1 or more: 1.2 is 20 %. None where the run has no control, or it no such value."""
    found = [max(ratio.median, 1 / ratio.median)
             for one, other in pairs(results, experiment) for point in results.points
             if (ratio := results.cell(point, one).ratio(results.cell(point, other), key))
             and ratio.median > 0]
    return max(found, default=None)


def within(ratio, noise):
    """Whether a ratio is no further from 1 than the noise floor (None: not known, so False)."""
    return noise is not None and ratio > 0 and 1 < noise >= max(ratio, 1 / ratio)


def words(results, experiment, key):
    """At the head of a table."""
    if (noise := floor(results, experiment, key)) is None:
        return "noise floor not measured"
    return f"≈: within the noise floor, {noise:.2f}×"


def summary(results, experiment):
    """What the run's differences are to be compared with: sentences."""
    if not (same := pairs(results, experiment)):
        return ("This run has no A/A control, so its noise floor is not known: a ratio tells nothing "
                "that is not larger than the spread of the rounds.")
    who = " and ".join(f"“{one}” is “{other}”" for one, other in same)
    kind = "A/A control:" if results.control else "This run has no A/A control of its own, but"
    return (f"{kind} {who} under another name. Ratios that are no further from 1 than theirs, where that "
            "is most, are marked ≈.")
