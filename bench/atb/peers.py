# SPDX-License-Identifier: Apache-2.0
"""bench/atb/peers.py: code of all experiments with ATB: the peers (set-ups), their hints, and one measurement."""

import contextlib
import json
import pathlib

from daemons import model_load
from tool import clock, experiment, ways
from tool.experiment import Failed

DIRECT, RINGS, HAPROXY = "direct", "direct, rings", "HAProxy pair"
SERVICE, FUNCTION, LEARNED = "hatrpcd, service hints", "hatrpcd, function hints", "hatrpcd, learned"
TCP = "tcp"  # can be forced as a protocol can

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAPERS = "hybrid_eager_rndv,direct_write_send,direct_write_imm,rfp"  # the protocols in the paper's figures

# The most bytes that Thrift adds to a payload. The hint payload_size is the size of the whole message.
OVERHEAD_BYTES = 128

# If the payloads of all clients together have this size or more, a client gets about one answer per second. Then a
# measurement takes twice the time.
LONG_BYTES = 32 << 20

# The time-out is long, because 512 clients connect at the same time to a server that accepts with one thread.
LIMITS = {"limits": {"connect_timeout": "20s"}}

LOCAL = experiment.Option(
    "--local", "connection between each application and the sidecar of its host: sockets, or rings of "
    "shared memory", "tcp", ways.LOCALS)
PROTOCOLS = experiment.Option(
    "--protocols", "RDMA protocols to force, separated by commas, each as a set-up of its own; or all, or none",
    PAPERS)
PROCESSES = experiment.Option("--processes", "number of client processes among which the clients are divided", 1)

COSTS = {
    "sidecar_cpu_us": experiment.Unit("µs", "lower", "CPU per call: both sidecars"),
    "server_cpu_us": experiment.Unit("µs", "lower", "CPU per call: server"),
    "by_wanted": experiment.Unit("%", "higher", "Calls by RDMA, by the protocol that is forced")}
NOTES = ("All processes share one machine. Without an RDMA device the daemons exchange messages "
         "through shared memory. Each client has one connection and one call at a time, and checks "
         "the checksum of each answer, which the server computes too. The file of all values has "
         "by_wanted: the share of the calls whose request and reply used the forced protocol (or its "
         "rendezvous, for messages that fit no slot), or whose request used any RDMA protocol if none was forced. "
         "Runs before 2026-11-27 looked at requests only.")


MODEL_NOTES = ("The clients are divided among up to nine hosts, and their daemons lead to one host with the server. "
               "Direct calls use TCP between the hosts. Client and server compute the checksum of all payloads.")
MEASURES = (*ways.CODE, "bench/account.h", "bench/atb")


def notes(more=""):
    """Returns a function for an experiment's `notes`; `more` is about its hints."""
    return lambda options: (model_load.NOTES + MODEL_NOTES if model_load.is_model(options) else NOTES) + more


def account(found, prefix=""):
    """Returns the rate and the values of bench/tool/clock.py from atb's output, which must have one load."""
    [load] = found["loads"]
    return {f"{prefix}calls_per_s": load["calls_per_s"], **clock.values(load, prefix)}


def every_protocol():
    schema = json.loads((ROOT / "config/schema/manifest.schema.json").read_text(encoding="utf-8"))
    return schema["definitions"]["hints"]["properties"]["protocol"]["enum"]


def protocols(settings):
    every = every_protocol()
    if settings.protocols in ("all", "none"):
        return every if settings.protocols == "all" else []
    names = settings.protocols.split(",")
    for name in names:
        if name not in every:
            raise SystemExit(f"--protocols: there is no protocol {name!r}; expected all, none, or some of: "
                             f"{', '.join(every)}")
    return names


def names(settings):
    """Returns the peers of an experiment with the option --fabric."""
    if settings.fabric == "model":
        return [DIRECT, SERVICE, FUNCTION, *map(forcing, protocols(settings))]
    rings = [RINGS] if settings.local == "shm" else []
    return [DIRECT, *rings, HAPROXY, SERVICE, FUNCTION, *map(forcing, protocols(settings))]


def forcing(protocol):
    """Returns the name of the peer that forces a protocol, or TCP."""
    return f"hatrpcd, {protocol}"


def hints(payload_bytes, clients):
    """Returns the hints that ATB's service has for all hatrpcd peers, with this payload size and number of clients."""
    return {"payload_size": payload_bytes + OVERHEAD_BYTES, "concurrency": clients}


def manifest_of(peer, goal, size, clients):
    """Returns the manifest of a hatrpcd peer; `goal` is the perf_goal of the whole service.

    The peer with function hints has a goal for each function instead, as in bench/atb/atb.thrift.
    """
    functions = {"latency": {}, "throughput": {}}
    if peer == FUNCTION:
        functions = {name: {"perf_goal": name} for name in functions}
        return ways.manifest("Atb", functions, hints(size, clients))
    forced = {SERVICE: {}, LEARNED: {"plan": "learned"}, forcing(TCP): {"transport": "tcp"}}.get(
        peer, {"protocol": protocol_of(peer)})
    return ways.manifest("Atb", functions, {"perf_goal": goal, **hints(size, clients), **forced})


def protocol_of(peer):
    return peer.removeprefix("hatrpcd, ")


def wanted_share(peer, counts):
    """Returns the share of calls that were carried as the peer's hints say. `counts`: calls by way."""
    if peer in (SERVICE, FUNCTION, LEARNED):
        return ways.rdma_share(counts)
    return ways.planned_share(counts, protocol_of(peer))


class Atb:
    """The setup of an experiment: measure() runs an atb command, and adds the processor time of its calls."""

    warm_up = 0.3  # seconds before each measurement, for the option --warm-up of atb

    def __init__(self, site, peers, goal, command, values):
        self.site, self.peers, self.goal = site, peers, goal
        self.command = command  # (point) -> atb's command line, without address and time
        self.values = values  # (atb's JSON) -> the experiment's values
        self.versions = {"HAProxy": ways.haproxy_version()}

    def measure(self, peer, point, seconds):
        way = self.way_of(peer, point)
        words = self.command(point)
        if point["bytes"] * point.get("clients", 1) >= LONG_BYTES:
            seconds *= 2
        if way.admins:
            way.change_manifest(self.manifest(peer, point))
            self.open_lanes(way, words)
        before = way.calls_by_way() if way.admins else None
        sidecars, server = way.cpu_seconds()
        time = ["--iterations", 0, "--seconds", seconds, "--warm-up", self.warm_up]
        found = self.run(way, words, time, seconds + self.warm_up)
        sidecars_then, server_then = way.cpu_seconds()
        calls = sum(line["calls"] for line in found["results"]) * (seconds + self.warm_up) / seconds
        values = {**self.values(found), "sidecar_cpu_us": (sidecars_then - sidecars) * 1e6 / calls,
                  "server_cpu_us": (server_then - server) * 1e6 / calls}
        if way.admins:
            values["by_wanted"] = 100 * self.wanted_share(peer, point, way.calls_by_way() - before)
        return values

    def manifest(self, peer, point):
        """Returns the manifest of a hatrpcd peer at a point."""
        return manifest_of(peer, self.goal, point["bytes"], point.get("clients", 1))

    def wanted_share(self, peer, _, counts):
        return wanted_share(peer, counts)

    def way_of(self, peer, _):
        """Returns the way of a peer at a point."""
        return self.peers[peer]

    def open_lanes(self, way, words):
        """Makes calls until the lanes are up, because the first calls after a change of hints use TCP."""
        alone = ["--processes", 1, "--threads", 1] if words[0] != "latency" else []
        self.run(way, [*words, *alone], ["--iterations", 50, "--seconds", 0, "--warm-up", 0], 1)

    def run(self, way, words, more, seconds):
        command = [self.site.programs / "atb", words[0], way.address, *words[1:], *more, "--json"]
        return self.site.client(command, seconds)


def clients_words(point, settings):
    processes = min(settings.processes, point["clients"])
    if point["clients"] % processes:
        raise Failed(f"{point['clients']} clients cannot be spread over {processes} processes")
    return ["--processes", processes, "--threads", point["clients"] // processes]


def start_server(site, local):
    address = site.address(local, "atb")
    process = site.start([site.programs / "atb", "server", address], site.file("server.log"),
                         site.cores.server_host)
    ways.wait_for(address, process)
    return ways.Server(address, process)


@contextlib.contextmanager
def open_atb(settings, goal, command, values):
    with ways.Site(settings) as site:
        sockets = "tcp" if settings.local == "shm" else settings.local  # HAProxy has no rings

        def hatrpcd(peer):
            return ways.hatrpcd_pair(site, own, "Atb", manifest_of(peer, goal, 512, 1),
                                     settings.local, node=LIMITS)

        server = start_server(site, sockets)
        own = start_server(site, "shm") if settings.local == "shm" else server
        peers = ways.Peers({
            DIRECT: lambda: ways.direct(server),
            RINGS: lambda: ways.direct(own),
            HAPROXY: lambda: ways.haproxy_pair(site, server, sockets),
            **{name: lambda name=name: hatrpcd(name)
               for name in names(settings) if name.startswith("hatrpcd, ")}})
        yield Atb(site, peers, goal, command, values)


class ModelAtb:
    """As Atb, but computes a load on modelled hosts."""

    def __init__(self, settings, goal, values, latency_percent):
        self.settings, self.goal, self.values, self.latency_percent = settings, goal, values, latency_percent

    def measure(self, peer, point, seconds):
        clients = point.get("clients", 1)
        manifest = None if peer == DIRECT else manifest_of(peer, self.goal, point["bytes"], clients)
        found = model_load.run(self.settings, seconds, manifest, clients, "--workload", "atb", "--bytes", point["bytes"],
                               "--latency-percent", self.latency_percent, "--client-hosts",
                               min(clients, model_load.CLIENT_HOSTS))
        shares = {"latency": self.latency_percent, "throughput": 100 - self.latency_percent}
        results = [{**one, "calls_per_s": one["calls_per_second"]} for name, one in found["functions"].items()
                   if shares[name]]
        if not all(one["calls"] for one in results):
            raise Failed("no call of one of the functions ended; choose a longer --seconds")
        values = {**self.values({"results": results, "loads": [model_load.load(found)]}),
                  **{key: found[key] for key in ("sidecar_cpu_us", "server_cpu_us")}}
        if manifest:
            values["by_wanted"] = 100 * wanted_share(peer, model_load.calls_by_way(found))
        return values


@contextlib.contextmanager
def open_modelled_or_atb(settings, goal, command, values, latency_percent):
    """Yields the setup of an experiment with the option --fabric.

    `latency_percent`: the share of the calls of the function `latency` in the atb command.
    """
    if settings.fabric == "model":
        model_load.refuse(settings, "--processes")
        yield ModelAtb(settings, goal, values, latency_percent)
        return
    with open_atb(settings, goal, command, values) as atb:
        yield atb
