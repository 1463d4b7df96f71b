# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/model_costs.py: changes each time of the modelled hosts that is not known exactly."""

from engine import engine_bench
from experiments.engine_latency import PEERS
from tool import chart, experiment

# The times in bench/model/hardware.cc that are assumed, or of which only sums were measured.
COSTS = ("interrupt", "wake_up", "switch_thread", "frame", "sleep_call", "doorbell", "request", "empty_poll",
         "completion", "pcie_write", "pcie_read", "message", "wire")
POINTS = [{"polling": polling, "times": factor, "cost": cost}
          for polling in engine_bench.POLLINGS for factor in (0.5, 2) for cost in COSTS]


def open_model(settings):
    def words_of(protocol, point):
        return [*engine_bench.calls(protocol, {**point, "bytes": settings.bytes}),
                "--times", f"{point['cost']}={point['times']:g}"]
    return engine_bench.opener(words_of, engine_bench.CALL_NAMES)(settings)


EXPERIMENT = experiment.Experiment(
    name="model-costs", title="Protocols on modelled hosts, with other costs",
    question="Which differences between protocols remain if a cost of the model is half or twice as large?",
    peers=PEERS, points=POINTS, warm_up=0, open=open_model,
    options=[experiment.Option("--fabric", "only modelled hosts have such costs", "model", ("model",)),
             experiment.Option("--bytes", "size of request and reply", 512)],
    units=engine_bench.CALL_UNITS, clocks=engine_bench.CALL_CLOCKS, measures=engine_bench.MEASURES,
    same_code=engine_bench.SAME_CODE, charts=[chart.Bars("p50_us", "cost", "p50 of a call")],
    notes=engine_bench.MODEL_NOTES + "One client makes one call at a time.", model=engine_bench.model)
