# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/atb_throughput.py: runs ATB's throughput benchmark, as in HatRPC (SC'21), Figure 12."""

from atb import peers
from daemons import model_load
from tool import chart, clock, experiment


def points(settings):
    return [{"bytes": size, "clients": clients}
            for size in settings.bytes for clients in settings.clients]


def values(found):
    line = found["results"][0]
    return {"p50_us": line["p50_us"], "p99_us": line["p99_us"], **peers.account(found)}


def open_peers(settings):
    def command(point):
        return ["throughput", "--size", point["bytes"], *peers.clients_words(point, settings)]

    return peers.open_modelled_or_atb(settings, "throughput", command, values, 0)


EXPERIMENT = experiment.Experiment(
    name="atb-throughput", title="ATB throughput: many clients",
    question="How many calls per second do 1 to 512 clients make, and do hints lead to the protocol "
             "that carries most calls?",
    source="HatRPC (SC'21), Figure 12",
    peers=peers.names, points=points, open=open_peers, seconds=0.8, rounds=3, warm_up=0,
    options=[
        model_load.FABRIC, peers.LOCAL, peers.PROTOCOLS, peers.PROCESSES,
        experiment.Option("--bytes", "payloads of request and answer", [512, 131072]),
        experiment.Option("--clients", "how many call at once", [1, 4, 16, 64, 256, 512],
                          quick=[1, 64])],
    units={"calls_per_s": experiment.Unit("calls/s", "higher", "Calls per second"),
           "p50_us": experiment.Unit("µs", "lower", "Latency, p50"),
           "p99_us": experiment.Unit("µs", "lower", "Latency, p99"),
           **clock.UNITS, **peers.COSTS},
    clocks=(clock.Clock(("p50_us", "p99_us")),), measures=peers.MEASURES,
    charts=[chart.Lines("calls_per_s", "clients", "Calls per second", log_x=True, log_y=True)],
    notes=peers.notes(), model=model_load.model)
