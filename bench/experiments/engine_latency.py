# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/engine_latency.py: measures every RDMA protocol by size of the message, with one call at a time."""

from engine import engine_bench
from tool import chart, experiment

# direct_write_imm, which the planner chooses for latency, is first, because ratios are to the first peer.
PEERS = ["direct_write_imm", *(one for one in engine_bench.PROTOCOLS if one != "direct_write_imm")]


def points(settings):
    return [{"polling": polling, "bytes": size}
            for polling in engine_bench.POLLINGS for size in settings.bytes]


EXPERIMENT = experiment.Experiment(
    name="engine-latency", title="Latency of every RDMA protocol",
    question="Which protocol is the fastest, by message size and kind of polling?",
    source="HatRPC (SC'21), Figure 4", peers=PEERS, points=points, seconds=0.3, rounds=3, warm_up=0,
    open=engine_bench.opener(engine_bench.calls, engine_bench.CALL_NAMES),
    options=[engine_bench.MODELLED_FABRIC,
             experiment.Option("--bytes", "sizes of request and reply",
                               [4, 64, 512, 4096, 32768, 131072, 524288], quick=[64, 131072])],
    units=engine_bench.CALL_UNITS, clocks=engine_bench.CALL_CLOCKS, measures=engine_bench.MEASURES,
    same_code=engine_bench.SAME_CODE,
    charts=[chart.Lines("p50_us", "bytes", "p50 of a call", log_x=True, log_y=True)],
    notes=engine_bench.notes("One client makes one call at a time."), model=engine_bench.model)
