# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/engine_costs.py: measures the costs of the fabric's own operations."""

from engine import engine_bench
from tool import experiment

OPERATIONS = {"put": "put", "get": "get", "compare_swap": "compare and swap",
              "fetch_add": "fetch and add", "message": "message, there and back",
              "message_with_wake_up": "message, its receiver asleep",
              "register_1_mib": "registering 1 MiB", "register_16_mib": "registering 16 MiB"}


def words_of(peer, point):
    return ["costs"]


EXPERIMENT = experiment.Experiment(
    name="engine-costs", title="Costs of the fabric's operations",
    question="How long do one-sided operations, messages, wake-ups and registration take?",
    source="RDMA vs. RPC, Table I and Figure 3",
    peers=lambda settings: [settings.fabric], points=[{}], seconds=0.3, rounds=3, warm_up=0,
    open=engine_bench.opener(words_of, {f"{key}_us": f"{key}_us" for key in OPERATIONS}),
    options=[engine_bench.FABRIC],
    clocks=engine_bench.NO_CALLS, measures=engine_bench.MEASURES,
    units={f"{key}_us": experiment.Unit("µs", "lower", words) for key, words in OPERATIONS.items()},
    notes=engine_bench.NOTES + "Each operation is measured for an eighth of --seconds.")
