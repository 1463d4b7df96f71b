# SPDX-License-Identifier: Apache-2.0
"""bench/engine/engine_bench.py: one measurement by engine_bench, and whether it is one."""

import contextlib
import time

from tool import clock, experiment, processes

# As in engine/protocols.h, in its order.
PROTOCOLS = ("eager", "direct_write_send", "chained_write_send", "direct_write_imm", "write_rndv",
             "read_rndv", "hybrid_eager_rndv", "ar_grpc", "rfp", "farm", "pilaf", "herd", "hipower")
POLLINGS = ("busy", "event")

FABRIC = experiment.Option("--fabric", "loop is memory that two processes share; verbs wants the "
                           "devices rxe1 and rxe2, as in ./dev lab", "loop", ("loop", "verbs"))
NOTES = ("Two processes of one machine, each on a core of its own where there are two: ratios to "
         "look at, no absolute speeds. ")
CPU_NOTES = ("Who polls busily uses a core whether anything comes or not: there, CPU is little "
             "more than the time that a call takes. The server's CPU is that of its whole life, "
             "its start too: short measurements make it look large.")


class EngineBench:
    """The setup of an experiment whose measurements are single runs of engine_bench.

    `words_of(peer, point)` are its arguments, None where there is nothing to measure; `names` says
    which of what it prints is which value.
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
        result = processes.run_client(command, seconds)
        judge(words[0], result, time.monotonic() - begin, seconds)
        return result


def judge(kind, result, took, seconds):
    """engine_bench ends with 0 when its lanes went down: too early, or with nothing counted."""
    if kind not in ("calls", "oneway"):
        return
    if took < 1.2 * seconds:  # warm-up and measurement
        raise experiment.Failed(f"engine_bench ended early, after {took:.3f} s")
    if not result.get("calls_per_second" if kind == "calls" else "messages_per_second"):
        raise experiment.Failed("engine_bench: nothing came through")


def opener(words_of, names):
    """An experiment's `open`, of an EngineBench."""
    @contextlib.contextmanager
    def open_engine(settings):
        program = settings.programs / "engine_bench"
        if not program.is_file():
            raise experiment.Failed(f"there is no {program}: ./dev build makes it")
        yield EngineBench(settings, words_of, names)
    return open_engine


def calls(protocol, point):
    """Round trips: of `bytes` by `clients`, with `polling`."""
    return ["calls", "--protocol", protocol, "--size", point["bytes"], "--clients",
            point.get("clients", 1), "--polling", point["polling"]]


MEASURES = ("base", "bench/account.h", "bench/engine", "engine")
NO_CALLS = "these are single operations and one-way messages, which no client waits for"
SAME_CODE = (("hybrid_eager_rndv", "eager"),)  # engine/protocols.h has the same legs for both
CALL_CLOCKS = (clock.Clock(("p50_us", "p99_us")),)
CALL_NAMES = {"calls_per_second": "calls_per_s", "p50_us": "p50_us", "p99_us": "p99_us",
              **{key: key for key in clock.UNITS}, "client_cpu_us_per_call": "client_cpu_us", "server_cpu_us_per_call": "server_cpu_us"}
CALL_UNITS = {"calls_per_s": experiment.Unit("calls/s", "higher", "calls per second"),
              "p50_us": experiment.Unit("µs", "lower", "p50"),
              "p99_us": experiment.Unit("µs", "lower", "p99"), **clock.UNITS,
              "client_cpu_us": experiment.Unit("µs", "lower", "CPU per call: client"),
              "server_cpu_us": experiment.Unit("µs", "lower", "CPU per call: server")}
