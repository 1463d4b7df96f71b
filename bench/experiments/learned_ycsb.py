# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/learned_ycsb.py: compares plans of hints, and learned plans, with the best forced plan on YCSB."""

import contextlib
import copy
import pathlib
import sys

from atb import peers
from tool import chart, clock, experiment, forced, ways
from tool.forced import BEST, key_of

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "kv"))

from ycsb import compare, setting  # noqa: E402

HINTS, LEARNED = "HatRPC-Function", "HatRPC-Function, learned"
CARRIERS = [*peers.every_protocol(), peers.TCP]
FUNCTIONS = ("get", "put", "multiget", "multiput")
WORKLOADS = ("a", "b")


def manifest_of(whole, peer, plan, threads):
    """Returns HatKV's manifest with hints for this number of clients. `plan` is forced on all calls if `peer` is BEST."""
    manifest = copy.deepcopy(whole)
    service = manifest["services"]["HatKV"]
    service["hint"]["concurrency"] = threads
    if peer == LEARNED:
        service["hint"]["plan"] = "learned"
    if peer == BEST:
        carrier, polling = plan
        for name in FUNCTIONS:
            hint = service["functions"][name].setdefault("hint", {})
            hint |= {"transport": "tcp"} if carrier == peers.TCP else {"protocol": carrier}
            if polling is not None:
                hint["polling"] = polling
    return manifest


class Learned(forced.Judge, compare.Comparison):
    """The workloads of YCSB. At each point, each peer has its own pair of daemons."""

    warm_up = 1.0  # lanes come up after a change of the manifest

    def __init__(self, site, pairs, whole, settings):
        forced.Judge.__init__(self, CARRIERS, LEARNED, settings.learn)
        compare.Comparison.__init__(self, site, pairs, setting.workload("a"), settings.records)
        self.whole = whole
        self.versions = {}

    def measure_once(self, peer, point, seconds):
        way = self.way_of(peer, point)
        way.change_manifest(manifest_of(self.whole, peer, self.best.get(key_of(point)), point["threads"]))
        before = way.calls_by_way()
        values = self.run(way, setting.workload(point["workload"]), point["threads"], seconds)
        calls = way.calls_by_way() - before
        carrier = self.best[key_of(point)][0] if peer == BEST else None
        values["as_planned"] = ways.planned_share(calls, carrier) if carrier else ways.rdma_share(calls)
        return values


def points(settings):
    return [{"workload": workload, "threads": threads} for workload in WORKLOADS for threads in settings.threads]


@contextlib.contextmanager
def open_peers(settings):
    with ways.Site(settings) as site, setting.folder_in_memory() as data:
        server = setting.start_hatkv(site, data, settings.local)[settings.local]
        whole = setting.manifest(site.programs)
        node = {**peers.LIMITS, "profile": ways.calibrated(site, server, "HatKV").name}

        def pair(peer, key):
            return ways.hatrpcd_pair(site, server, "HatKV", manifest_of(whole, peer, (CARRIERS[0], None), key[1]),
                                     settings.local, node=node)

        learned = Learned(site, ways.Peers({
            (peer, key): lambda peer=peer, key=key: pair(peer, key)
            for peer in (BEST, HINTS, LEARNED) for key in map(key_of, points(settings))}), whole, settings)
        learned.load(server.address)
        yield learned


def goals(_):
    return [experiment.Goal(f"workload {workload.upper()}, {ways.clients(threads)}: operations/s of “{peer}” ÷ operations/s of "
                            f"“{BEST}”", "calls_per_s", peer, {"workload": workload, "threads": threads}, BEST,
                            at_least=at_least)
            for peer, at_least in ((HINTS, 0.9), (LEARNED, 0.95)) for workload in WORKLOADS for threads in (1, 16, 128)]


EXPERIMENT = experiment.Experiment(
    name="learned-ycsb", title="Learned plans on YCSB",
    question="Are plans from hints, and learned plans, as fast on YCSB as the best plan that can be forced?",
    peers=[BEST, HINTS, LEARNED], points=points, open=open_peers, seconds=1.0, rounds=5, warm_up=0,
    options=[
        peers.LOCAL,
        experiment.Option("--threads", "number of clients at the same time", [1, 16, 128], quick=[4]),
        experiment.Option("--records", "number of records in the store", 100_000, quick=2000),
        experiment.Option("--learn", "seconds of load at each point, before the first measurement of learned plans",
                          30.0, quick=3.0)],
    units={**compare.units(), **forced.units(CARRIERS)}, goals=goals, measures=compare.MEASURES,
    clocks=(clock.Clock(tuple(f"{operation}_{time}" for operation in compare.OPERATIONS for time in compare.TIMES),
                        clients=lambda point: point["threads"]),),
    charts=[chart.Lines("calls_per_s", "threads", "Operations per second", log_x=True)],
    notes="The clients, both daemons and the store share one machine. Without an RDMA device the daemons exchange "
          "messages through shared memory. All set-ups have the hints of kv/hatkv.thrift with the load's number of "
          "clients, and the costs that hatctl calibrate has measured first. A forced plan is forced on GET, PUT, "
          "MULTIGET and MULTIPUT. " + forced.notes(CARRIERS))
