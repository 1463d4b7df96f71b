# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/dds_queue.py: compares a queue (with one-sided operations, with calls) with its cost model."""

from dds import program
from tool import chart, experiment

PUSHES = {"push by call": "queue.push.call", "push C_RW": "queue.push.c_rw",
          "push C_RW, checksum": "queue.push.checksum", "push C_W": "queue.push.c_w",
          "push by its owner": "queue.push.local"}
POPS = {"pop by call": "queue.pop.call", "pop C_RW": "queue.pop.c_rw",
        "pop C_RW, checksum": "queue.pop.checksum", "pop C_R": "queue.pop.c_r",
        "pop by its owner": "queue.pop.local"}
METHODS = PUSHES | POPS

EXPERIMENT = experiment.Experiment(
    name="dds-queue", title="Distributed queue",
    question="How long do push and pop take at each concurrency level, and does the cost model predict it?",
    source="RDMA vs. RPC, Table III and Figure 4", peers=list(METHODS), points=program.points,
    open=program.method_opener("queue", METHODS), rounds=5, warm_up=0,
    options=[program.FABRIC, program.OPERATIONS, program.VALUE_BYTES, program.CLIENTS],
    clocks=program.NO_CLOCK, measures=program.MEASURES,
    units=program.UNITS | program.COUNTS,
    charts=[chart.Lines("us", "clients", "One push", peers=tuple(PUSHES), log_x=True, log_y=True),
            chart.Lines("us", "clients", "One pop", peers=tuple(POPS), to="pop by call", log_x=True,
                        log_y=True),
            chart.Lines("ratio", "clients", "Measured, of what the model predicts",
                        peers=tuple(one for one in METHODS if "owner" not in one), log_x=True)],
    notes=program.NOTES + "All clients use one queue. The prediction is the formula's sum of components, which as many "
                          "clients measured in the same run.")
