# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/dds_attentiveness.py: measures pushes to an owner that computes between two polls for calls."""

from dds import program
from tool import chart, experiment

WAYS = {"by call": "push.call", "by call, progress thread": "push.call.progress_thread",
        "one-sided, C_RW": "push.c_rw", "one-sided, C_W": "push.c_w"}


def words_of(peer, point):
    # For the peer "by call", also measure an owner that does not compute (0 µs), because the prediction needs its time.
    us = point["µs_of_computing"]
    begins = "0," if peer == "by call" and us != 0 else ""
    return ["attentiveness", "--method", WAYS[peer], "--compute-us", f"{begins}{us}"]


def values_of(result, peer):
    row = result["rows"][-1]
    return {key: row[key] for key in ("us", "mean_us", "predicted_us") if key in row}


EXPERIMENT = experiment.Experiment(
    name="dds-attentiveness", title="Attentiveness",
    question="How long does a push take if the queue's owner computes between two polls for calls?",
    source="RDMA vs. RPC, Figure 6", peers=list(WAYS),
    points=lambda settings: [{"µs_of_computing": us} for us in settings.compute_us],
    open=program.opener(words_of, values_of), rounds=5, warm_up=0,
    options=[program.FABRIC,
             experiment.Option("--operations", "pushes in each measurement", 5000, quick=300),
             program.VALUE_BYTES,
             experiment.Option("--compute-us", "how long the owner computes at a time",
                               [0, 1, 2, 4, 8, 16, 32, 64], quick=[0, 16])],
    clocks=program.NO_CLOCK, measures=program.MEASURES,
    units={key: program.UNITS[key] for key in ("us", "mean_us", "predicted_us")},
    charts=[chart.Lines("us", "µs_of_computing", "One push", log_y=True)],
    notes=program.NOTES + "There is one client. Before each push it pauses for as long as the owner computes, plus or "
                          "minus half. The prediction is the time of a call to an idle owner, plus half of the "
                          "computing time. The progress thread needs a third core: with two cores, mean and median "
                          "differ greatly.")
