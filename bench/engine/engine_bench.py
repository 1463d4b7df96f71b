# SPDX-License-Identifier: Apache-2.0
"""bench/engine/engine_bench.py: runs engine_bench as one measurement, and checks that the measurement is valid."""

import contextlib
import time

from tool import clock, experiment, processes

# The protocols of engine/protocols.h, in the same order.
PROTOCOLS = ("eager", "direct_write_send", "chained_write_send", "direct_write_imm", "write_rndv",
             "read_rndv", "hybrid_eager_rndv", "ar_grpc", "rfp", "farm", "pilaf", "herd", "hipower")
POLLINGS = ("busy", "event")

FABRIC_WORDS = "loop is memory that two processes share; verbs needs the devices rxe1 and rxe2, as in ./dev lab"
FABRIC = experiment.Option("--fabric", FABRIC_WORDS, "loop", ("loop", "verbs"))
MODELLED_FABRIC = experiment.Option(
    "--fabric", FABRIC_WORDS + "; model is modelled hosts and network cards, in virtual time", "loop",
    ("loop", "verbs", "model"))
# The default of engine_bench --hardware, for several time slices of the modelled scheduler.
MODEL = experiment.Model("skylake-connectx5", 0.02)
COMPUTES = 1000  # seconds to compute one second of virtual time with 512 clients, with reserve
MODEL_NOTES = ("Nothing was measured: the times are those of a model (docs/model.md). The engine's own code runs in "
               "virtual time, on modelled hosts with 28 cores and modelled network cards. Up to nine hosts have "
               "clients, and one has the server; each client has a thread on both sides. A run computes the same "
               "values each time. The CPU of a thread has its switches, but not the kernel's work for interrupts and "
               "wake-ups. ")
NOTES = ("The two processes share one machine, each with a core of its own if there are two. Use the "
         "ratios, not the absolute speeds. ")
CPU_NOTES = ("With busy polling a process uses a core whether messages arrive or not, so its CPU per "
             "call is little more than the time of a call. The server's CPU covers its whole life, "
             "also its start, so short measurements make it look large.")


def notes(more):
    """Returns a function for an experiment's `notes`; `more` is only for runs that measure."""
    return lambda options: MODEL_NOTES if options.get("--fabric") == "model" else NOTES + more


def model(settings):
    return MODEL if settings.fabric == "model" else None


class EngineBench:
    """The setup of an experiment in which each measurement is one run of engine_bench.

    `words_of(peer, point)` returns the arguments of engine_bench, or None if there is nothing to measure;
    `names` maps keys of its output to names of values.
    """

    def __init__(self, settings, words_of, names):
        self.settings, self.words_of, self.names = settings, words_of, names

    def measure(self, peer, point, seconds):
        words = self.words_of(peer, point)
        if words is None:
            return {}
        result = self.run(words, seconds)
        return {value: result[key] for key, value in self.names.items() if key in result}

    def run(self, words, seconds):
        command = [self.settings.programs / "engine_bench", *words, "--fabric",
                   self.settings.fabric, "--seconds", f"{seconds:g}"]
        begin = time.monotonic()
        result = processes.run_client(command, seconds * (COMPUTES if model(self.settings) else 1))
        judge(words[0], result, None if model(self.settings) else time.monotonic() - begin, seconds)
        return result


def judge(kind, result, took, seconds):
    """Raises Failed if engine_bench ended early or counted nothing, as it does (with status 0) if its lanes fail.

    `took` is the time that the program ran, or None if it computed.
    """
    if kind not in ("calls", "oneway"):
        return
    if took is not None and took < 1.2 * seconds:  # warm-up and measurement
        raise experiment.Failed(f"engine_bench ended early, after {took:.3f} s")
    if not result.get("calls_per_second" if kind == "calls" else "messages_per_second"):
        raise experiment.Failed("engine_bench: no call or message ended")


def opener(words_of, names):
    """Returns a function for an experiment's `open` that yields an EngineBench."""
    @contextlib.contextmanager
    def open_engine(settings):
        program = settings.programs / "engine_bench"
        if not program.is_file():
            raise experiment.Failed(f"{program} does not exist; run ./dev build")
        yield EngineBench(settings, words_of, names)
    return open_engine


def calls(protocol, point):
    """Returns the arguments of engine_bench to measure calls with a protocol at a point."""
    return ["calls", "--protocol", protocol, "--size", point["bytes"], "--clients",
            point.get("clients", 1), "--polling", point["polling"]]


MEASURES = ("base", "bench/account.h", "bench/engine", "bench/model", "engine")
NO_CALLS = "the run measures single operations and one-way messages, not calls of several clients"
SAME_CODE = (("hybrid_eager_rndv", "eager"),)  # these protocols have the same legs in engine/protocols.h
CALL_CLOCKS = (clock.Clock(("p50_us", "p99_us")),)
CALL_NAMES = {"calls_per_second": "calls_per_s", "p50_us": "p50_us", "p99_us": "p99_us",
              **{key: key for key in clock.UNITS}, "client_cpu_us_per_call": "client_cpu_us", "server_cpu_us_per_call": "server_cpu_us"}
CALL_UNITS = {"calls_per_s": experiment.Unit("calls/s", "higher", "calls per second"),
              "p50_us": experiment.Unit("µs", "lower", "p50"),
              "p99_us": experiment.Unit("µs", "lower", "p99"), **clock.UNITS,
              "client_cpu_us": experiment.Unit("µs", "lower", "CPU per call: client"),
              "server_cpu_us": experiment.Unit("µs", "lower", "CPU per call: server")}
