# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/dds_components.py: measures the component operations of distributed data structures."""

from dds import program
from tool import chart, experiment

# The operations: the names of the paper, and the names of the program dds.
COMPONENTS = {"put (W)": "put", "get (R)": "get", "compare-and-swap (A_CAS)": "compare_swap",
              "compare-and-swap until it succeeds (A_CAS-P)": "compare_swap_won",
              "fetch-and-add (A_FAO)": "fetch_add",
              "fetch-and-add of one word (A_FAO)": "fetch_add_one", "call (AM)": "call"}


def words_of(peer, point):
    return ["components", "--method", COMPONENTS[peer], "--clients", point["clients"]]


def values_of(result, peer):
    return {"us": result["components"][f"{COMPONENTS[peer]}_us"]}


EXPERIMENT = experiment.Experiment(
    name="dds-components", title="Component operations",
    question="How long do put, get, compare-and-swap, fetch-and-add and a call take, by number of clients?",
    source="RDMA vs. RPC, Table I and Figure 3", peers=list(COMPONENTS), points=program.points,
    open=program.opener(words_of, values_of), rounds=5, warm_up=0,
    options=[program.FABRIC, program.OPERATIONS, program.VALUE_BYTES, program.CLIENTS],
    clocks=program.NO_CLOCK, measures=program.MEASURES,
    units={"us": program.UNITS["us"]},
    charts=[chart.Lines("us", "clients", "One operation", log_x=True, log_y=True)],
    notes=program.NOTES + "In the rows “until it succeeds” and “of one word” all clients use the same word of the "
                          "owner. In the other rows each operation uses a random word of 100,000. A call inserts into "
                          "the owner's own hash table.")
