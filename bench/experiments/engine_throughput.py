# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/engine_throughput.py: measures every RDMA protocol by number of clients."""

from engine import engine_bench
from experiments.engine_latency import PEERS
from tool import chart, experiment


def points(settings):
    return [{"polling": polling, "bytes": size, "clients": clients}
            for polling in engine_bench.POLLINGS for size in settings.bytes
            for clients in settings.clients]


EXPERIMENT = experiment.Experiment(
    name="engine-throughput", title="Throughput of every RDMA protocol",
    question="Which protocol carries most calls, by number of clients, and how much CPU does it use?",
    source="HatRPC (SC'21), Figure 5", peers=PEERS, points=points, seconds=0.3, rounds=3, warm_up=0,
    open=engine_bench.opener(engine_bench.calls, engine_bench.CALL_NAMES),
    options=[engine_bench.MODELLED_FABRIC,
             experiment.Option("--bytes", "sizes of request and reply", [512, 131072], quick=[512]),
             experiment.Option("--clients", "number of lanes, each with one call at a time", [1, 4, 16, 64],
                               quick=[1, 16])],
    units=engine_bench.CALL_UNITS, clocks=engine_bench.CALL_CLOCKS, measures=engine_bench.MEASURES,
    same_code=engine_bench.SAME_CODE,
    charts=[chart.Lines("calls_per_s", "clients", "Calls per second", log_x=True, log_y=True),
            *(chart.Lines(f"{side}_cpu_us", "clients", f"CPU per call: {side}, event polling",
                          where={"polling": "event"}, log_x=True, log_y=True, in_docs=False)
              for side in ("client", "server"))],
    notes=engine_bench.notes(engine_bench.CPU_NOTES), model=engine_bench.model)
