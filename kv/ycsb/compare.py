# SPDX-License-Identifier: Apache-2.0
"""kv/ycsb/compare.py: makes experiments that run YCSB on HatKV over every way between client and server.

All ways lead to one store, as in HatRPC (SC'21) 5.4. The peers (set-ups) that use hatrpcd differ in their manifests:
 - AR-gRPC, HERD, Pilaf and RFP are emulated: the service's hints, and the peer's protocol for every function;
 - HatRPC-Service: only the service's hints;
 - HatRPC-Function: the hints of the service and of its functions, as in kv/hatkv.thrift.
"""

import contextlib

from daemons import model_load
from tool import chart, clock, experiment, ways
from ycsb import setting

PROTOCOLS = {"AR-gRPC": "ar_grpc", "HERD": "herd", "Pilaf": "pilaf", "RFP": "rfp"}
PEERS = ["direct", "HAProxy pair", *PROTOCOLS, "HatRPC-Service", "HatRPC-Function"]
OPERATIONS = {"read": "GET", "update": "PUT", "multiread": "MULTIGET", "multiupdate": "MULTIPUT"}
MEASURES = (*ways.CODE, "bench/account.h", "kv")
TIMES = {"avg_us": "average", "p50_us": "p50", "p95_us": "p95", "p99_us": "p99"}
NOTES = (
    "The clients, both daemons and the store share one machine and its cores; between the "
    "daemons there is no NIC. As in the paper, AR-gRPC, HERD, Pilaf and RFP are emulated: their "
    "protocol is forced, on the same store. An operation of ten records counts once. "
    "The file of all values has as_planned: the share of the calls whose request and reply used the "
    "forced protocol (or its rendezvous, for messages that fit no slot), or whose request used any RDMA "
    "protocol if hints choose. The other calls used TCP, or had a reply that another protocol carried. "
    "Runs before 2026-11-27 looked at requests only.")
MODEL_NOTES = model_load.NOTES + (
    "As in the paper, the clients are divided among four hosts, one host has the store, and AR-gRPC, HERD, Pilaf and "
    "RFP are emulated: their protocol is forced. Direct calls use TCP between the hosts. The times of the store are "
    "assumed. An operation of ten records counts once.")
GOAL_THREADS = [1, 4, 16, 64]
LOAD_SECONDS = 60
MODEL_CLIENT_HOSTS = 4  # as in HatRPC (SC'21) 5.4


def service_manifest(whole, **hint):
    """Returns the manifest `whole` without its functions' hints, and with the hints `hint` added to the service's."""
    services = {name: {**service, "hint": {**service.get("hint", {}), **hint},
                       "functions": {function: {} for function in service["functions"]}}
                for name, service in whole["services"].items()}
    return {"services": services}


def manifests(whole):
    """Returns the manifest of each peer that uses hatrpcds, by the peer's name."""
    return {**{peer: service_manifest(whole, protocol=name) for peer, name in PROTOCOLS.items()},
            "HatRPC-Service": service_manifest(whole), "HatRPC-Function": whole}


def planned_share(peer, calls):
    """Returns the share of the calls (by way) that were carried as the peer's manifest says."""
    return ways.planned_share(calls, PROTOCOLS[peer]) if peer in PROTOCOLS else ways.rdma_share(calls)


class Comparison:
    warm_up = 0.2  # seconds before each measurement, because each begins with new connections

    def __init__(self, site, peers, workload, records):
        self.site, self.peers, self.workload, self.records = site, peers, workload, records
        self.versions = {"HAProxy": ways.haproxy_version()}

    def driver(self, phase, address, workload, threads, *words):
        return [self.site.programs / "hatkv-ycsb", phase, "--connect", ways.in_hatrpcd(address),
                "-P", workload, "-p", f"recordcount={self.records}", "-p", "operationcount=0",
                "--threads", threads, "--json", *words]

    def load(self, address):
        result = self.site.client(self.driver("load", address, self.workload, 8), LOAD_SECONDS)
        if result["insert"]["operations"] != self.records:
            raise experiment.Failed(f"only {result['insert']} of {self.records} records loaded")

    def measure(self, peer, point, seconds):
        way = self.peers[peer]
        before = way.calls_by_way() if way.admins else None
        values = self.run(way, self.workload, point["threads"], seconds)
        if way.admins:
            calls = way.calls_by_way() - before
            values["as_planned"] = planned_share(peer, calls)
        return values

    def run(self, way, workload, threads, seconds):
        """Returns the values of one run of a workload over a way."""
        found = self.site.client(self.driver("run", way.address, workload, threads, "--seconds", seconds, "--warm-up",
                                             self.warm_up), seconds + self.warm_up)
        values = {"calls_per_s": found["calls_per_s"], **clock.values(found)}
        for operation in OPERATIONS:
            times = found.get(operation, {"operations": 0})
            if times["operations"]:
                values |= {f"{operation}_{time}": times[time] for time in TIMES}
        return values


class ModelComparison:
    """As Comparison, but computes a load on modelled hosts."""

    def __init__(self, settings, workload):
        self.settings, self.workload = settings, workload
        self.manifests = {"direct": None, **manifests(setting.manifest(settings.programs))}

    def measure(self, peer, point, seconds):
        threads = point["threads"]
        found = model_load.run(self.settings, seconds, self.manifests[peer], threads, "--workload", self.workload,
                               "--client-hosts", min(threads, MODEL_CLIENT_HOSTS))
        values = model_load.load(found)
        for operation, name in OPERATIONS.items():
            times = found["functions"][name.lower()]
            if times["calls"]:
                values |= {f"{operation}_{time}": times["average_us" if time == "avg_us" else time] for time in TIMES}
        if peer != "direct":
            values["as_planned"] = planned_share(peer, model_load.calls_by_way(found))
        return values


@contextlib.contextmanager
def open_peers(settings, workload):
    if settings.fabric == "model":
        model_load.refuse(settings, "--records")
        yield ModelComparison(settings, f"ycsb-{workload.name}")
        return
    # If hatrpcd uses rings, HAProxy (which has no rings) and the direct calls use TCP, to the same store.
    sockets = "tcp" if settings.local == "shm" else settings.local
    with ways.Site(settings) as site, setting.folder_in_memory() as data:
        servers = setting.start_hatkv(site, data, *{sockets, settings.local})
        server, own = servers[sockets], servers[settings.local]

        def hatrpcd(manifest):
            return ways.hatrpcd_pair(site, own, "HatKV", manifest, settings.local)

        comparison = Comparison(site, ways.Peers({
            "direct": lambda: ways.direct(server),
            "direct, rings": lambda: ways.direct(own),
            "HAProxy pair": lambda: ways.haproxy_pair(site, server, sockets),
            **{peer: lambda manifest=manifest: hatrpcd(manifest)
               for peer, manifest in manifests(setting.manifest(site.programs)).items()}}),
            workload, settings.records)
        comparison.load(server.address)
        yield comparison


def peers(settings):
    if settings.fabric == "model":
        return ["direct", *PROTOCOLS, "HatRPC-Service", "HatRPC-Function"]
    return ["direct", *(["direct, rings"] if settings.local == "shm" else []), *PEERS[1:]]


def units():
    found = {"calls_per_s": experiment.Unit("calls/s", "higher", "operations per second")}
    for operation, name in OPERATIONS.items():
        found |= {f"{operation}_{time}": experiment.Unit("µs", "lower", f"{name}, {words}")
                  for time, words in TIMES.items()}
    found |= clock.UNITS
    found["as_planned"] = experiment.Unit("share", "higher", "calls by the wanted protocol")
    return found


def goals(options):
    """Returns the goals: the rate with function hints must be at least 95 % of the rate with any single protocol."""
    if model_load.is_model(options):
        return []
    wanted = {**dict.fromkeys(PROTOCOLS, 0.95),
              **({"direct": 1.5} if options.get("--local") == "shm" else {})}
    return [experiment.Goal(f"{ways.clients(threads)}: operations per second of "
                            f"HatRPC-Function ÷ {peer}", "calls_per_s", "HatRPC-Function",
                            {"threads": threads}, peer, at_least=at_least)
            for peer, at_least in wanted.items() for threads in GOAL_THREADS]


def old_mean(values, shares):
    """Returns the mean time of all operations, for old results, which have only the mean of each operation."""
    found = {operation: values[f"{operation}_avg_us"] for operation in shares
             if f"{operation}_avg_us" in values}
    weight = sum(shares[operation] for operation in found)
    return sum(shares[operation] * us for operation, us in found.items()) / weight if found else None


def make(name, letter, figure, shares):
    """Returns the experiment of one workload. `shares`: the share of each operation; their sum must be 1."""
    proportions = ", ".join(f"{share * 100:g}% {OPERATIONS[operation]}"
                            for operation, share in shares.items())
    return experiment.Experiment(
        name=name, title=f"YCSB {letter.upper()} on HatKV",
        question=f"How many operations do RDMA protocols and hints carry on YCSB's workload "
                 f"{letter.upper()} ({proportions})?",
        source=f"HatRPC (SC'21), Figure {figure}", peers=peers,
        points=lambda settings: [{"threads": threads} for threads in settings.threads],
        open=lambda settings: open_peers(settings, setting.workload(letter)),
        options=[
            model_load.FABRIC,
            experiment.Option("--local", "connection between each application and the sidecar of its "
                              "host: sockets, or rings of shared memory", "tcp", ways.LOCALS),
            experiment.Option("--threads", "number of clients at the same time", [1, 2, 4, 8, 16, 32, 64],
                              quick=[1, 16]),
            experiment.Option("--records", "number of records in the store", 100_000, quick=2000)],
        units=units(), goals=goals, measures=MEASURES,
        clocks=(clock.Clock(tuple(f"{operation}_{time}" for operation in OPERATIONS for time in TIMES),
                            clients=lambda point: point["threads"],
                            old=lambda values, _: (values["calls_per_s"],
                                                   old_mean(values, shares))),),
        charts=[chart.Lines("calls_per_s", "threads", "Operations per second", log_x=True),
                *(chart.Lines(f"{operation}_avg_us", "threads", f"{words}, average", log_x=True,
                              log_y=True, in_docs=operation in ("read", "multiread"))
                  for operation, words in OPERATIONS.items()),
                *(chart.Lines(f"{operation}_p99_us", "threads", f"{words}, p99", log_x=True,
                              log_y=True, in_docs=False) for operation, words in OPERATIONS.items())],
        model=model_load.model,
        notes=lambda options: MODEL_NOTES if model_load.is_model(options) else NOTES)
