#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/fleet_plot.py: makes the changes of scenarios/fleet_test.py over a given time, and draws the calls.

usage: fleet_plot.py PROGRAMS PEERS SECONDS FILE.svg

The plot has the calls per second that each server answers, the changes, and the calls that have failed. The program
ends with status 1 if a call breaks a promise of docs/guarantees.md.
"""

import collections
import datetime
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "e2e" / "scenarios"), str(ROOT / "bench")]
if len(sys.argv) not in (5, 6):  # with --inside, in the namespace
    sys.exit(__doc__)

from changing_fleet import CLIENT_HOSTS, ChangingFleet, calls_by_lane, executed, wrong_calls  # noqa: E402
from fleet import in_a_network_namespace  # noqa: E402
from network import RESOLV_CONF, TOOLS  # noqa: E402
from recorded_load import OK  # noqa: E402

BUCKET_S = 2  # each point of a line is the rate in a time of this length


def measure(seconds):
    """Makes the changes, evenly over the time. Returns the start, the calls, the changes, and what breaks a promise."""
    with ChangingFleet() as fleet:
        steps = [fleet.kill_server, fleet.start_killed_server, fleet.drain, fleet.start_drained, fleet.add,
                 fleet.kill_host, fleet.cut_off, fleet.connect, fleet.slow_down, fleet.speed_up]
        with fleet.load() as load:
            began = time.monotonic()
            for number, step in enumerate(steps, 1):
                time.sleep(max(0, began + seconds * number / (len(steps) + 1) - time.monotonic()))
                step()
            time.sleep(max(0, began + seconds - time.monotonic()))
            lanes = calls_by_lane(fleet.nodes[number] for number in CLIENT_HOSTS)
        wrong = wrong_calls(load.calls, executed(fleet.folder))
    counts = collections.Counter((call.idempotent, call.outcome) for call in load.calls)
    print(f"{len(load.calls)} calls, {lanes} by RDMA lanes")
    for (idempotent, outcome), count in sorted(counts.items()):
        print(f"{'idempotent' if idempotent else 'not idempotent'}: {outcome}: {count}")
    return began, load.calls, fleet.changes, wrong


def draw(file, seconds, began, calls, changes):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    from tool import machine, plots
    with matplotlib.rc_context({**plots.STYLE, "svg.hashsalt": "fleet"}):
        figure, axis = pyplot.subplots(figsize=(10, 5.2))
        places = [(number + 0.5) * BUCKET_S for number in range(int(seconds // BUCKET_S))]
        names = sorted({call.server for call in calls if call.outcome == OK})
        rates = {name: [0.0] * len(places) for name in names}
        for call in calls:
            bucket = int((call.ended - began) // BUCKET_S)
            if call.outcome == OK and 0 <= bucket < len(places):
                rates[call.server][bucket] += 1 / BUCKET_S
        axis.stackplot(places, rates.values(), labels=names, colors=(plots.BASELINE, *plots.COLOURS))
        top = 1.5 * max(map(sum, zip(*rates.values())))
        failed = [call for call in calls if call.outcome != OK]
        axis.plot([call.ended - began for call in failed], [top * 0.02] * len(failed), "x", color="#b00000",
                  label=f"failed calls: {len(failed)},\nidempotent: {sum(call.idempotent for call in failed)}")
        for when, text in changes:
            axis.axvline(when - began, color="#333333", linewidth=0.8, linestyle=":")
            axis.text(when - began, top, f" {text}", rotation=90, fontsize=7.5, va="top", ha="right")
        axis.set(xlim=(0, seconds), ylim=(0, top), xlabel="seconds", ylabel="answered calls/s, by server")
        figure.suptitle("Changes under load", x=0.01, ha="left", fontsize=12, fontweight="bold")
        commit, changed = machine.commit()
        foot = (f"{len(calls):,} calls   ·   {machine.kind(machine.facts())}   ·   {datetime.date.today()}   ·   "
                f"commit {commit}{'+' if changed else ''}")
        figure.text(0.01, 0.008, foot, fontsize=7, color="#777777")
        figure.tight_layout(rect=(0, 0.03, 0.83, 1))
        figure.legend(loc="center left", bbox_to_anchor=(0.83, 0.5), fontsize=9)
        pathlib.Path(file).write_text(plots.svg(figure, "Changes under load") + "\n", encoding="utf-8")


def main():
    seconds, file = float(sys.argv[3]), sys.argv[4]
    began, calls, changes, wrong = measure(seconds)
    draw(file, seconds, began, calls, changes)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    in_a_network_namespace(main, *TOOLS, files=[RESOLV_CONF])
