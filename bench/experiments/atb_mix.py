# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/atb_mix.py: runs ATB's mix benchmark, as in HatRPC (SC'21), Figures 13 and 14."""

from atb import peers
from daemons import model_load
from tool import chart, clock, experiment


def points(settings):
    return [{"bytes": size, "clients": clients}
            for size in settings.bytes for clients in settings.clients]


def values(found):
    latency, throughput = found["results"]
    return {"average_us": latency["average_us"], "p50_us": latency["p50_us"],
            "p99_us": latency["p99_us"], "calls_per_s": throughput["calls_per_s"],
            **peers.account(found, "all_")}


def old(values, peer):
    """Returns the rate and the mean time of the calls of both functions, for results of an old atb.

    An old atb printed only the values of one function. Half of the calls were calls of each function. Without function
    hints a peer carries both functions alike, so the rate is twice that of one function. With function hints the values
    are not known.
    """
    if peer == peers.FUNCTION:
        return None, None
    return 2 * values["calls_per_s"], values["average_us"]


def open_peers(settings):
    def command(point):
        sizes = [word for side in ("request", "answer") for function in ("latency", "throughput")
                 for word in (f"--{function}-{side}-size", point["bytes"])]
        return ["mix", *sizes, "--latency-percent", settings.latency_percent,
                *peers.clients_words(point, settings)]

    return peers.open_modelled_or_atb(settings, "throughput", command, values, settings.latency_percent)


EXPERIMENT = experiment.Experiment(
    name="atb-mix", title="ATB mix: two functions, one for latency and one for throughput",
    question="If clients call two functions, how do hints for each function change the latency of one "
             "and the throughput of the other?",
    source="HatRPC (SC'21), Figures 13 (512 B) and 14 (128 KiB)",
    peers=peers.names, points=points, open=open_peers, seconds=0.8, rounds=3, warm_up=0,
    options=[
        model_load.FABRIC, peers.LOCAL, peers.PROTOCOLS, peers.PROCESSES,
        experiment.Option("--bytes", "payloads of requests and answers of both", [512, 131072]),
        experiment.Option("--clients", "how many call at once", [1, 4, 16, 64, 256], quick=[1, 16]),
        experiment.Option("--latency-percent", "calls of the latency function among 100", 50)],
    units={"average_us": experiment.Unit("µs", "lower", "Average latency of latency calls"),
           "p50_us": experiment.Unit("µs", "lower", "Latency of latency calls, p50"),
           "p99_us": experiment.Unit("µs", "lower", "Latency of latency calls, p99"),
           "calls_per_s": experiment.Unit("calls/s", "higher", "Throughput calls per second"),
           "all_calls_per_s": experiment.Unit("calls/s", "higher", "Both functions: calls per second"),
           **clock.units("all_", "Both functions"), **peers.COSTS},
    clocks=(clock.Clock(("average_us", "p50_us", "p99_us"), prefix="all_", old=old),), measures=peers.MEASURES,
    charts=[chart.Lines("average_us", "clients", "Average latency of latency calls", log_x=True,
                        log_y=True),
            chart.Lines("calls_per_s", "clients", "Throughput calls per second", log_x=True,
                        log_y=True)],
    notes=peers.notes(" With service hints both functions have perf_goal=throughput; with "
                        "function hints each has its own."),
    model=model_load.model)
