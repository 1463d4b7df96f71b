# SPDX-License-Identifier: Apache-2.0
"""bench/dds/program.py: runs the program dds as one measurement of an experiment."""

import contextlib

from tool import experiment, processes

FABRIC = experiment.Option("--fabric", "loop is memory that the processes share; verbs needs the devices "
                           "rxe1 and rxe2, as in ./dev lab", "loop", ("loop", "verbs"))
OPERATIONS = experiment.Option("--operations", "operations of each client in each measurement", 20000, quick=1000)
VALUE_BYTES = experiment.Option("--value-bytes", "size of a value", 8)
CLIENTS = experiment.Option("--clients", "number of processes that operate at the same time", [1, 2, 4], quick=[1, 2])
MEASURES = ("base", "bench/dds", "engine/costs", "engine/fabric", "engine/memory")
NO_CLOCK = "each client performs a fixed number of operations, so the end of the measurement cuts none off"
NOTES = ("Owner and clients are processes of one machine. Each has a core of its own if there are enough. With more "
         "processes than cores, a call waits until the owner is scheduled. On the fabric `loop` the client's own "
         "processor performs a one-sided operation, at the speed of memory; there is no NIC. The option "
         "--operations, not --seconds, sets the length of a measurement. ")
UNITS = {"us": experiment.Unit("µs", "lower", "median"),
         "mean_us": experiment.Unit("µs", "lower", "mean"),
         "predicted_us": experiment.Unit("µs", "neither", "predicted"),
         "ratio": experiment.Unit("×", "neither", "measured ÷ predicted")}


class Program:
    """The setup of an experiment in which each measurement is one run of dds.

    `words_of(peer, point)` returns the arguments of dds; `values_of(result, peer)` picks values from its output.
    """

    def __init__(self, settings, words_of, values_of):
        self.settings, self.words_of, self.values_of = settings, words_of, values_of

    def measure(self, peer, point, seconds):
        command = [self.settings.programs / "dds", *self.words_of(peer, point), "--json", "--fabric",
                   self.settings.fabric, "--operations", self.settings.operations, "--value-bytes",
                   self.settings.value_bytes]
        return self.values_of(processes.run_client(command, 30), peer)


def opener(words_of, values_of):
    """Returns a function for an experiment's `open` that yields a Program."""
    @contextlib.contextmanager
    def open_program(settings):
        if not (settings.programs / "dds").is_file():
            raise experiment.Failed(f"{settings.programs}/dds does not exist; run ./dev build")
        yield Program(settings, words_of, values_of)
    return open_program


def method_opener(command, methods):
    """Returns the `open` of an experiment in which each peer is a method of `dds COMMAND`.

    dds measures the method, and predicts its cost from the components that it measures in the same run.
    """
    def words_of(peer, point):
        return [command, "--method", methods[peer], "--clients", point["clients"]]

    def values_of(result, peer):
        [method] = result["methods"]
        return {key: method[key] for key in (*UNITS, *COUNTS) if key in method}
    return opener(words_of, values_of)


def points(settings):
    return [{"clients": clients} for clients in settings.clients]


# How many RDMA operations each operation on the queue or table has made, with retries and further buckets. The cost
# model's formulas leave these out.
COUNTS = {key: experiment.Unit("", "neither", words) for key, words in (
    ("puts", "W each"), ("gets", "R each"), ("compare_swaps", "CAS each"), ("fetch_adds", "FAO each"),
    ("calls", "AM each"))}
