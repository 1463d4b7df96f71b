# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/dds_attentiveness.py: pushes to an owner that computes between two looks at its calls."""

from dds import program
from tool import chart, experiment

WAYS = {"by call": "push.call", "by call, progress thread": "push.call.progress_thread",
        "one-sided, C_RW": "push.c_rw", "one-sided, C_W": "push.c_w"}


def words_of(peer, point):
    # Beside it, an owner that does nothing else: what the prediction begins from.
    us = point["µs_of_computing"]
    begins = "0," if peer == "by call" and us != 0 else ""
    return ["attentiveness", "--method", WAYS[peer], "--compute-us", f"{begins}{us}"]


def values_of(result, peer):
    row = result["rows"][-1]
    return {key: row[key] for key in ("us", "mean_us", "predicted_us") if key in row}


EXPERIMENT = experiment.Experiment(
    name="dds-attentiveness", title="Attentiveness",
    question="What does a push cost while the queue's owner computes between two looks at its calls?",
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
    notes=program.NOTES + "One client; it pauses before each push for as long as the owner computes, give or take "
                          "half. The prediction is a call to an idle owner, and half of the computing. The progress "
                          "thread wants a third core: with two, mean and median lie far apart.")
