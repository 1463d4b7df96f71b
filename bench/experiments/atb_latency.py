# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/atb_latency.py: runs ATB's latency benchmark, as in HatRPC (SC'21), Figure 11."""

from atb import peers
from daemons import model_load
from tool import chart, clock, experiment


def command(point):
    size = point["bytes"]
    return ["latency", "--min", size, "--max", size]


def values(found):
    line = found["results"][0]
    return {**{key: line[key] for key in ("average_us", "p50_us", "p99_us")}, **peers.account(found)}


def open_peers(settings):
    return peers.open_modelled_or_atb(settings, "latency", command, values, 100)


EXPERIMENT = experiment.Experiment(
    name="atb-latency", title="ATB latency: one client, by payload",
    question="How long does a call of one client take, by the size of request and answer, and do hints "
             "lead to the fastest protocol?",
    source="HatRPC (SC'21), Figure 11",
    peers=peers.names, points=lambda settings: [{"bytes": size} for size in settings.bytes],
    open=open_peers, seconds=0.8, rounds=3, warm_up=0,
    options=[
        model_load.FABRIC, peers.LOCAL, peers.PROTOCOLS,
        experiment.Option("--bytes", "payloads of request and answer",
                          [4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 524288],
                          quick=[4, 524288])],
    units={"average_us": experiment.Unit("µs", "lower", "Average latency"),
           "p50_us": experiment.Unit("µs", "lower", "Latency, p50"),
           "p99_us": experiment.Unit("µs", "lower", "Latency, p99"),
           "calls_per_s": experiment.Unit("calls/s", "higher", "Calls per second"), **clock.UNITS,
           **peers.COSTS},
    clocks=(clock.Clock(("average_us", "p50_us", "p99_us")),), measures=peers.MEASURES,
    charts=[chart.Lines("average_us", "bytes", "Average latency", log_x=True, log_y=True),
            chart.Lines("p99_us", "bytes", "Latency, p99", log_x=True, log_y=True,
                        in_docs=False)],
    notes=peers.notes(), model=model_load.model)
