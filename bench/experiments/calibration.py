# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/calibration.py: compares plans from the planner's constants with plans from measured costs."""

import contextlib

from tool import chart, clock, experiment, ways

CONSTANTS, MEASURED = "constants", "measured"
GOALS = ("res_util", "none")


def points(settings):
    return [{"goal": goal, "bytes": size, "clients": clients} for goal in GOALS
            for size in settings.bytes for clients in settings.clients]


def hint(goal, size):
    return {**({} if goal == "none" else {"perf_goal": goal}), "payload_size": f"{size}B"}


class Plans:
    def __init__(self, site, pairs):
        self.site, self.pairs = site, pairs

    def measure(self, peer, point, seconds):
        way = self.pairs[peer, point["goal"], point["bytes"]]
        sidecars, _ = way.cpu_seconds()
        protocols = way.calls_by_protocol("echo")
        result = self.site.client([self.site.programs / "echo_client", way.address,
                                   point["clients"], point["bytes"], seconds], seconds)
        sidecars_then, _ = way.cpu_seconds()
        return {"p50_us": result["p50"], **clock.values(result), "calls_per_s": result["calls_per_s"],
                "sidecar_cpu_us": (sidecars_then - sidecars) * 1e6 / (result["calls_per_s"] * seconds),
                "in_slots": ways.share(way.calls_by_protocol("echo") - protocols,
                                       "direct_write_imm")}


@contextlib.contextmanager
def open_peers(settings):
    with ways.Site(settings) as site:
        server = site.server([settings.programs / "echo_server", "0"])
        profile = ways.calibrated(site, server, "Echo", settings.fabric)
        nodes = {CONSTANTS: {}, MEASURED: {"profile": profile.name}}

        def pair(node, goal, size):
            manifest = ways.manifest("Echo", {"echo": {}}, hint(goal, size))
            return ways.hatrpcd_pair(site, server, "Echo", manifest, fabric=settings.fabric,
                                     node=node)

        yield Plans(site, ways.Peers({
            (peer, goal, size): lambda key=(node, goal, size): pair(*key)
            for peer, node in nodes.items() for goal in GOALS for size in settings.bytes}))


EXPERIMENT = experiment.Experiment(
    name="calibration", title="Plans by constants, and by measured costs",
    question="Does a profile that hatctl calibrate wrote lead to better plans than the constants?",
    source="RDMA vs. RPC (Brock et al.), section III: cost as a sum of component operations",
    peers=[CONSTANTS, MEASURED], points=points, open=open_peers, seconds=1.0, rounds=5,
    options=[
        experiment.Option("--fabric", "between the two daemons; auto takes a device", "loop",
                          ("loop", "verbs", "auto")),
        experiment.Option("--bytes", "sizes of request and reply", [8192, 16384, 49152],
                          quick=[16384]),
        experiment.Option("--clients", "how many call at once", [1, 4], quick=[1])],
    clocks=(clock.Clock(("p50_us",)),), measures=(*ways.CODE, *ways.ECHO),
    units={"p50_us": "µs", **clock.UNITS,
           "calls_per_s": experiment.Unit("calls/s", "higher", "calls per second"),
           "sidecar_cpu_us": experiment.Unit("µs", "lower", "CPU per call: both sidecars"),
           "in_slots": experiment.Unit("of calls", "neither", "by direct_write_imm")},
    charts=[chart.Lines("p50_us", "bytes", "p50 of a call", log_x=True, log_y=True)],
    notes="Both pairs of daemons serve the same echo server. A third pair, which has no other work, "
          "measures the profile first. By the constants, payloads larger than 4 KiB are sent by "
          "rendezvous: three messages for a payload, and with res_util a wake-up for each.")
