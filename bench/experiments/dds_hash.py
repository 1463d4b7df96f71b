# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/dds_hash.py: compares a hash table (with one-sided operations, with calls) with its cost model."""

from dds import program
from tool import chart, experiment

INSERTS = {"insert by call": "hash.insert.call", "insert C_RW": "hash.insert.c_rw",
           "insert C_W": "hash.insert.c_w", "insert by its owner": "hash.insert.local"}
FINDS = {"find by call": "hash.find.call", "find C_RW": "hash.find.c_rw", "find C_R": "hash.find.c_r",
         "find by its owner": "hash.find.local"}
METHODS = INSERTS | FINDS

EXPERIMENT = experiment.Experiment(
    name="dds-hash", title="Distributed hash table",
    question="How long do insert and find take at each concurrency level, and does the cost model predict it?",
    source="RDMA vs. RPC, Table II and Figure 5", peers=list(METHODS), points=program.points,
    open=program.method_opener("hash", METHODS), rounds=5, warm_up=0,
    options=[program.FABRIC, program.OPERATIONS, program.VALUE_BYTES, program.CLIENTS],
    clocks=program.NO_CLOCK, measures=program.MEASURES,
    units=program.UNITS | program.COUNTS,
    charts=[chart.Lines("us", "clients", "One insert", peers=tuple(INSERTS), log_x=True, log_y=True),
            chart.Lines("us", "clients", "One find", peers=tuple(FINDS), to="find by call", log_x=True,
                        log_y=True),
            chart.Lines("ratio", "clients", "Measured, of what the model predicts",
                        peers=tuple(one for one in METHODS if "owner" not in one), log_x=True)],
    notes=program.NOTES + "At the end the table is between a quarter and half full, so an operation reads 1.2 to 1.5 "
                          "buckets on average. The formulas assume one bucket.")
