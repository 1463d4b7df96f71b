# SPDX-License-Identifier: Apache-2.0
"""bench/tool/noise.py: computes a run's noise floor: the difference that the run measures between identical peers.

In each round, the first peer (set-up) is measured twice, as if it were two peers; the second one is called the A/A
control. The ratio of their values should be 1. The noise floor is the largest distance of this ratio from 1 at any
point. A run cannot distinguish two peers that differ by less.
"""


def pairs(results, experiment):
    """Returns the pairs of peers that are identical: the control and its peer, and the pairs in same_code."""
    if results.is_computed:
        return []
    control = results.facts.get("control")
    return ([(control["peer"], control["of"])] if control else []) + [
        pair for pair in experiment.same_code if set(pair) <= set(results.peers)]


def floor(results, experiment, key):
    """Returns the noise floor of a value as a ratio of 1 or more (1.2 is 20 %).

    Returns None if the run has no control, or the control does not have this value.
    """
    found = [max(ratio.median, 1 / ratio.median)
             for one, other in pairs(results, experiment) for point in results.points
             if (ratio := results.cell(point, one).ratio(results.cell(point, other), key))
             and ratio.median > 0]
    return max(found, default=None)


def within(ratio, noise):
    """Returns True if a ratio is within the noise floor `noise`, and False if not, or if the floor is None."""
    return noise is not None and ratio > 0 and 1 < noise >= max(ratio, 1 / ratio)


def words(results, experiment, key):
    """Returns words about the noise floor of the value `key`, for the title of a table."""
    if results.is_computed:
        return "computed, without noise"
    if (noise := floor(results, experiment, key)) is None:
        return "noise floor not measured"
    return f"≈: within the noise floor, {noise:.2f}×"


def summary(results, experiment):
    """Returns sentences that explain the run's noise floor to a reader."""
    if results.is_computed:
        return "The values were computed, so they have no noise."
    if not (same := pairs(results, experiment)):
        return ("This run has no A/A control, so its noise floor is not known: only a ratio that is "
                "larger than the spread of the rounds is a difference.")
    who = " and ".join(f"“{one}” is “{other}”" for one, other in same)
    kind = "A/A control:" if results.control else "This run has no A/A control of its own, but"
    return (f"{kind} {who} under another name. The largest difference between the two at any point is "
            "the noise floor. Ratios within it are marked ≈.")
