# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/footprint.py: measures a pair of hatrpcds with idle connections: memory, descriptors, CPU time."""

import contextlib
import pathlib
import re
import subprocess
import time

from tool import chart, experiment, processes, ways

# The fabric between the two daemons.
FABRICS = {"fabric tcp": "tcp", "fabric loop": "loop"}
CONNECT_SECONDS = 60  # for all connections and their calls
SETTLE_SECONDS = 1.0  # after the last call: until nothing polls any more
CPU_MS_MAX = 10  # per second, for a daemon with 1,000 idle rings: 1 % of a core


def resident_kib(process):
    processes.must_run(process)
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1))


def descriptors(process):
    return len(list(pathlib.Path(f"/proc/{process.pid}/fd").iterdir()))


def use_of(running, seconds):
    """Waits; returns the CPU time (ms) and the wake-ups of each process meanwhile, both per second."""
    def now():
        return [(processes.cpu_seconds(one) * 1000, processes.wake_ups(one)) for one in running]

    begun, before = time.monotonic(), now()
    time.sleep(seconds)
    after, passed = now(), time.monotonic() - begun
    return [tuple((new - old) / passed for old, new in zip(*both)) for both in zip(before, after)]


def start_pair(site, fabric, local, hint=None):
    """Starts a pair of hatrpcds and an echo server; returns the pair. `hint`: hints of the service."""
    server = site.server([site.programs / "echo_server", site.address(local, "server")])
    manifest = ways.manifest("Echo", {"echo": {}}, hint)
    return ways.hatrpcd_pair(site, server, "Echo", manifest, local, FABRICS[fabric])


def hold(site, pair, connections):
    """Opens idle connections, which stay open until the site ends."""
    holder = site.start([site.programs / "idle_clients", pair.address, connections], site.file("idle.log"),
                        site.cores.client_host, stdout=subprocess.PIPE)
    processes.first_line(holder, CONNECT_SECONDS)


class Footprint:
    def __init__(self, settings):
        self.settings = settings

    def measure(self, peer, point, seconds):
        """Measures with a new pair of hatrpcds each time, because an old pair could use memory again that it freed."""
        with ways.Site(self.settings) as site:
            pair = start_pair(site, peer, self.settings.local)
            hold(site, pair, 1)
            before = [(resident_kib(one), descriptors(one)) for one in pair.sidecars]
            hold(site, pair, point["connections"])
            time.sleep(SETTLE_SECONDS)
            used = use_of(pair.sidecars, seconds)
            values = {"cpu_ms_per_s": sum(cpu for cpu, _ in used)}
            for name, one, (kib, fds), (cpu, wake_ups) in zip(("client", "server"), pair.sidecars, before, used):
                values |= {f"{name}_mib": resident_kib(one) / 1024,
                           f"{name}_kib_each": (resident_kib(one) - kib) / point["connections"],
                           f"{name}_fds_each": (descriptors(one) - fds) / point["connections"],
                           f"{name}_cpu_ms_per_s": cpu, f"{name}_wake_ups_per_s": wake_ups}
            return values


@contextlib.contextmanager
def open_peers(settings):
    yield Footprint(settings)


def goals(options):
    if options.get("--local") != "shm":
        return []
    return [experiment.Goal(f"1,000 idle rings, “{peer}”: CPU of the {side}'s hatrpcd, ms/s", f"{side}_cpu_ms_per_s",
                            peer, {"connections": 1000}, at_most=CPU_MS_MAX)
            for peer in FABRICS for side in ("client", "server")]


EXPERIMENT = experiment.Experiment(
    name="footprint", title="What idle connections need",
    question="How much memory, how many descriptors and how much processor time do idle connections need?",
    peers=list(FABRICS), points=[{"connections": count} for count in (1, 100, 1000)],
    open=open_peers, seconds=2.0, rounds=3, warm_up=0.0,
    options=[experiment.Option("--local", "connections between each application and the hatrpcd of its host: sockets, "
                               "or rings of shared memory", "tcp", ways.LOCALS)],
    clocks="no calls are timed", measures=(*ways.CODE, *ways.ECHO, "bench/idle_clients.cc"), goals=goals,
    units={"client_mib": experiment.Unit("MiB", "lower", "resident memory, the client's hatrpcd"),
           "server_mib": experiment.Unit("MiB", "lower", "resident memory, the server's hatrpcd"),
           "client_kib_each": experiment.Unit("KiB", "lower", "memory added by each connection, the client's hatrpcd"),
           "server_kib_each": experiment.Unit("KiB", "lower", "memory added by each connection, the server's hatrpcd"),
           "client_fds_each": experiment.Unit("", "lower", "descriptors of each, the client's"),
           "server_fds_each": experiment.Unit("", "lower", "descriptors of each, the server's"),
           "cpu_ms_per_s": experiment.Unit("ms/s", "lower", "CPU of both hatrpcds, while all are idle"),
           "client_cpu_ms_per_s": experiment.Unit("ms/s", "lower", "CPU of the client's hatrpcd, while all are idle"),
           "server_cpu_ms_per_s": experiment.Unit("ms/s", "lower", "CPU of the server's hatrpcd, while all are idle"),
           "client_wake_ups_per_s": experiment.Unit("wake-ups/s", "lower",
                                                    "of the client's hatrpcd, while all are idle"),
           "server_wake_ups_per_s": experiment.Unit("wake-ups/s", "lower",
                                                    "of the server's hatrpcd, while all are idle")},
    charts=[chart.Lines("client_mib", "connections", "Resident memory of the client's hatrpcd"),
            chart.Lines("server_mib", "connections", "Resident memory of the server's hatrpcd"),
            chart.Bars("client_kib_each", "connections", "For each connection, the client's hatrpcd"),
            chart.Bars("server_kib_each", "connections", "For each connection, the server's hatrpcd")],
    notes="Each daemon has one worker. Each connection carried one call of 64 B before it became idle. Memory that the "
          "fabric `loop` shares counts as resident in both daemons, as far as it was touched. So does the memory of "
          "rings, in the daemon of their host.")
