# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/isolation.py: measures a latency function alone, and while a throughput function has load."""

import contextlib

from tool import chart, clock, experiment, processes, ways

LATENCY, THROUGHPUT = {"perf_goal": "latency"}, {"perf_goal": "throughput"}
HINTS = {"both latency": (LATENCY, LATENCY), "both throughput": (THROUGHPUT, THROUGHPUT),
         "echo latency, bulk throughput": (LATENCY, THROUGHPUT)}  # hints of echo and of bulk
LOADS = [{"load": "4 clients of 64 B"}, {"load": "1 client of 128 KiB"}]
LOAD_WORDS = {"4 clients of 64 B": (4, 64), "1 client of 128 KiB": (1, 131072)}


def one(_point):
    """Returns the number of clients that call echo()."""
    return 1


def no_rate(_values, _peer):
    """Returns no rate and no mean time, because old results do not have the rate of each load."""
    return None, None


class Isolation:
    def __init__(self, site, peers):
        self.site, self.peers = site, peers

    def client(self, way, clients, size, seconds, function):
        return processes.Client([self.site.programs / "echo_client", way.address, clients, size,
                                 seconds, function], seconds, self.site.cores.client_host)

    def measure(self, peer, point, seconds):
        """Measures echo() alone, and then while the load runs."""
        way = self.peers[peer]
        clients, size = LOAD_WORDS[point["load"]]
        with self.client(way, 1, 64, seconds, "echo") as echo:
            alone = echo.result()
        with self.client(way, clients, size, seconds + 1, "bulk") as bulk:
            with self.client(way, 1, 64, seconds, "echo") as echo:
                beside = echo.result()
            load = bulk.result()
        return {"slower": beside["p99"] / alone["p99"], "alone_p50_us": alone["p50"],
                "alone_p99_us": alone["p99"], "beside_p50_us": beside["p50"],
                "beside_p99_us": beside["p99"],
                **{f"{prefix}calls_per_s": found["calls_per_s"]
                   for prefix, found in (("alone_", alone), ("beside_", beside), ("bulk_", load))},
                **clock.values(alone, "alone_"), **clock.values(beside, "beside_"),
                **clock.values(load, "bulk_")}


@contextlib.contextmanager
def open_peers(settings):
    with ways.Site(settings) as site:
        server = site.server([settings.programs / "echo_server", site.address("shm", "server")])

        def pair(echo, bulk):
            manifest = ways.manifest("Echo", {"echo": echo, "bulk": bulk})
            return ways.hatrpcd_pair(site, server, "Echo", manifest, "shm")

        yield Isolation(site, ways.Peers({
            name: lambda hints=hints: pair(*hints) for name, hints in HINTS.items()}))


EXPERIMENT = experiment.Experiment(
    name="isolation", title="Isolation of functions by their hints",
    question="Does load on a throughput function slow a latency function of the same service?",
    source="HatRPC (SC'21), section 5.3", peers=list(HINTS), points=LOADS, open=open_peers,
    seconds=2.0, rounds=5,
    units={"slower": experiment.Unit("× alone", "lower", "p99 of echo beside the load ÷ p99 of echo alone"),
           "alone_p50_us": experiment.Unit("µs", "lower", "echo alone: p50"),
           "alone_p99_us": experiment.Unit("µs", "lower", "echo alone: p99"),
           "beside_p50_us": experiment.Unit("µs", "lower", "echo beside the load: p50"),
           "beside_p99_us": experiment.Unit("µs", "lower", "echo beside the load: p99"),
           "bulk_calls_per_s": experiment.Unit("calls/s", "higher", "the load's calls"),
           "alone_calls_per_s": experiment.Unit("calls/s", "higher", "echo alone: calls"),
           "beside_calls_per_s": experiment.Unit("calls/s", "higher", "echo beside the load: calls"),
           **clock.units("alone_", "echo alone"), **clock.units("beside_", "echo beside the load"),
           **clock.units("bulk_", "the load")},
    clocks=(clock.Clock(("alone_p50_us", "alone_p99_us", "slower"), prefix="alone_", clients=one, old=no_rate),
            clock.Clock(("beside_p50_us", "beside_p99_us", "slower"), prefix="beside_", clients=one,
                        old=no_rate),
            clock.Clock((), prefix="bulk_", clients=lambda point: LOAD_WORDS[point["load"]][0],
                        old=no_rate)),
    measures=(*ways.CODE, *ways.ECHO),
    charts=[chart.Bars("slower", "load", "echo's p99 beside the load, of its p99 alone")],
    notes="Client and server use rings of shared memory. The paper has a machine for each side. Here all "
          "processes share the cores of one machine, so the processor time of the load is part of the "
          "result.")
