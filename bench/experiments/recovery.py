# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/recovery.py: measures the rate of calls before and after a disturbance of the host."""

import contextlib
import signal
import time

from tool import chart, experiment, processes, ways

HINTS = {"latency": {"perf_goal": "latency"}, "throughput": {"perf_goal": "throughput"},
         "event": {"polling": "event"}}  # the service's hint
START_SECONDS = 0.5  # after the clients have begun to connect
DISTURBED_SECONDS = 1.0
RECOVERY_SECONDS = 1.0  # after the end of the disturbance
# How much longer the clients call than the measurement should take: a disturbance also delays this program. The
# clients are killed after the measurement.
SPARE_SECONDS = 10.0
MORE_CLIENTS = 128


class Recovery:
    def __init__(self, site, peers):
        self.site, self.peers = site, peers

    def client(self, way, clients, seconds):
        return processes.Client([self.site.programs / "echo_client", way.address, clients, 64, seconds],
                                seconds, self.site.cores.client_host)

    @contextlib.contextmanager
    def disturbance(self, name, way):
        with contextlib.ExitStack() as ends:
            if name == "computing processes":
                for core in ways.cores_to_use():
                    ends.enter_context(processes.Client(["sh", "-c", "while :; do :; done"], 0, str(core)))
            elif name == f"{MORE_CLIENTS} more clients":
                ends.enter_context(self.client(way, MORE_CLIENTS, 2 * DISTURBED_SECONDS))
            else:
                way.sidecars[1].send_signal(signal.SIGSTOP)
                ends.callback(way.sidecars[1].send_signal, signal.SIGCONT)
            yield

    def measure(self, peer, point, seconds):
        """Measures the rate, disturbs the host, waits RECOVERY_SECONDS, and measures the rate again."""
        way = self.peers[peer]
        whole = START_SECONDS + DISTURBED_SECONDS + RECOVERY_SECONDS + 2 * seconds
        with self.client(way, point["clients"], whole + SPARE_SECONDS) as clients:
            time.sleep(START_SECONDS)
            before = way.calls_per_second(seconds)
            with self.disturbance(point["disturbance"], way):
                disturbed = way.calls_per_second(DISTURBED_SECONDS)
            time.sleep(RECOVERY_SECONDS)
            after = way.calls_per_second(seconds)
            if clients.process.poll() is not None:
                raise processes.Failed(f"the clients ended before the last measurement: {whole:g} s took longer")
        return {"recovered": after / before, "before_per_s": before, "disturbed_per_s": disturbed,
                "after_per_s": after}


@contextlib.contextmanager
def open_peers(settings):
    with ways.Site(settings) as site:
        server = site.server([settings.programs / "echo_server", site.address("shm", "server")])

        def pair(hint):
            manifest = ways.manifest("Echo", {"echo": {}}, hint)
            return ways.hatrpcd_pair(site, server, "Echo", manifest, "shm")

        yield Recovery(site, ways.Peers({
            name: lambda hint=hint: pair(hint) for name, hint in HINTS.items()}))


DISTURBANCES = ("computing processes", f"{MORE_CLIENTS} more clients", "a stopped daemon")

EXPERIMENT = experiment.Experiment(
    name="recovery", title="Recovery from a disturbance",
    question="Do the calls of many clients return to their rate within a second after a disturbance?",
    peers=list(HINTS), open=open_peers, seconds=1.0, rounds=5,
    points=lambda settings: [{"clients": clients, "disturbance": name}
                             for clients in settings.clients for name in DISTURBANCES],
    options=[experiment.Option("--clients", "number of clients that call at the same time", [16, 64, 256],
                               quick=[64])],
    units={"recovered": experiment.Unit("× before", "higher", "rate after the disturbance ÷ rate before it"),
           "before_per_s": experiment.Unit("calls/s", "higher", "before the disturbance"),
           "disturbed_per_s": experiment.Unit("calls/s", "higher", "during the disturbance"),
           "after_per_s": experiment.Unit("calls/s", "higher", "after it, and a second of recovery")},
    clocks="the daemon's counter gives the rates, and no latency is measured",
    measures=(*ways.CODE, *ways.ECHO),
    charts=[chart.Bars("recovered", "disturbance", "Rate after the disturbance, of the rate before it",
                       where={"clients": 64})],
    goals=[experiment.Goal(f"{clients} clients, {name}, “{peer}”: rate after ÷ rate before", "recovered",
                           peer, {"clients": clients, "disturbance": name}, at_least=0.7)
           for clients in (64, 256) for name in DISTURBANCES for peer in HINTS],
    notes="All processes share one machine. Client and server use rings of shared memory, with 64 B in each "
          f"direction. The disturbance lasts {DISTURBED_SECONDS:g} s: a process that computes on each core, "
          f"{MORE_CLIENTS} more clients, or the server's hatrpcd stopped by SIGSTOP. The second rate is "
          f"measured {RECOVERY_SECONDS:g} s after its end.")
