# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/model_check.py: compares what the model computes for echo calls with measurements on this machine.

The server, the clients and the daemons are those of the experiment echo.
"""

import contextlib

from experiments import echo
from tool import chart, clock, experiment, processes, ways

# By set-up: the arguments of model_echo.
SETUPS = {"direct": ("--direct",),
          "hatrpcd, TCP lanes": ("--link", "tcp"),
          "hatrpcd, event": ("--hint", "polling: event"),
          "hatrpcd, latency": ("--hint", "perf_goal: latency")}
HARDWARE = "two-core-vm"  # the model of this machine
CLIENTS = (1, 4, 16, 64)
WITHIN = 1.3  # the quotient of the model and the measurement is to be within this factor
MODEL_SECONDS = 0.2  # of virtual time
LOCALS = {"tcp": "socket", "shm": "ring"}


def modelled(setup):
    return f"{setup}, modelled"


class ModelCheck:
    """Measures a set-up with echo_client, or computes it with model_echo."""

    def __init__(self, settings, measured):
        self.settings, self.measured = settings, measured
        self.words = {modelled(setup): words for setup, words in SETUPS.items()}

    def measure(self, peer, point, seconds):
        if peer not in self.words:
            found = self.measured.measure(peer, point, seconds)
            return {key: found[key] for key in UNITS}
        found = processes.run_client(
            [self.settings.programs / "model_echo", "--hardware", HARDWARE, "--one-host", "--local",
             LOCALS[self.settings.local], *self.words[peer], "--clients", point["clients"], "--bytes", point["bytes"],
             "--seconds", MODEL_SECONDS], MODEL_SECONDS)
        return {"calls_per_s": found["calls_per_second"], **{key: found[key] for key in UNITS if key in found}}


@contextlib.contextmanager
def open_peers(settings):
    with ways.Site(settings, ways.all_cores()) as site:
        server = site.server([settings.programs / "echo_server",
                              "0" if settings.local == "tcp" else site.address(settings.local, "server")])

        def hatrpcd(fabric, hint):
            manifest = ways.manifest("Echo", {"echo": {}, "bulk": {}}, hint)
            return ways.hatrpcd_pair(site, server, "Echo", manifest, settings.local, fabric)

        start = {"direct": lambda: ways.direct(server),
                 **{name: lambda lanes=lanes: hatrpcd(*lanes) for name, lanes in echo.LANES.items() if name in SETUPS}}
        yield ModelCheck(settings, echo.Echo(ways.Peers(
            {name: lambda way=way: echo.Clients(site, way()) for name, way in start.items()})))


def goals(_):
    return [experiment.Goal(f"{clients} client{'s' * (clients > 1)}: calls/s of “{modelled(setup)}” ÷ measured calls/s",
                            "calls_per_s", modelled(setup), {"clients": clients}, setup, at_least=1 / WITHIN,
                            at_most=WITHIN)
            for setup in SETUPS for clients in CLIENTS]


UNITS = {"calls_per_s": experiment.Unit("calls/s", "higher", "calls per second"),
         "p50_us": experiment.Unit("µs", "lower", "p50"), **clock.UNITS,
         "client_cpu_us": experiment.Unit("µs", "lower", "CPU per call: client"),
         "sidecar_cpu_us": experiment.Unit("µs", "lower", "CPU per call: both sidecars"),
         "server_cpu_us": experiment.Unit("µs", "lower", "CPU per call: server")}

EXPERIMENT = experiment.Experiment(
    name="model-check", title="The model against this machine",
    question="How close is the model of hatrpcd on modelled hosts to measurements on this machine?",
    peers=[name for setup in SETUPS for name in (setup, modelled(setup))],
    points=[{"bytes": 64, "clients": clients} for clients in CLIENTS], open=open_peers, seconds=1.5, rounds=5,
    options=[experiment.Option("--local", "connection between each application and the sidecar of its host: "
                               "sockets, or rings of shared memory", "tcp", tuple(LOCALS))],
    units=UNITS, clocks=(clock.Clock(("p50_us",)),), measures=(*ways.CODE, *ways.ECHO, "bench/daemons", "bench/model"),
    charts=[chart.Lines("calls_per_s", "clients", "Calls per second", log_x=True)], goals=goals,
    notes="“Modelled” values are computed (docs/model.md), the others are measured. All processes share one machine, "
          "with loopback, or with shared memory between the daemons. The costs of the model of this machine were "
          "chosen by measurements of direct connections and of hatrpcd with TCP lanes.")
