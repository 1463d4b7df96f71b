# SPDX-License-Identifier: Apache-2.0
"""bench/dds/program.py: one run of the program dds, for experiments."""

import contextlib

from tool import experiment, processes

FABRIC = experiment.Option("--fabric", "loop is memory that the processes share; verbs wants the devices "
                           "rxe1 and rxe2, as in ./dev lab", "loop", ("loop", "verbs"))
OPERATIONS = experiment.Option("--operations", "of each client, in each measurement", 20000, quick=1000)
VALUE_BYTES = experiment.Option("--value-bytes", "size of a value", 8)
CLIENTS = experiment.Option("--clients", "how many processes operate at once", [1, 2, 4], quick=[1, 2])
MEASURES = ("base", "bench/dds", "engine/costs", "engine/fabric", "engine/memory")
NO_CLOCK = "each client makes a number of operations, and no window cuts any off"
NOTES = ("Owner and clients are processes of one machine, each on a core of its own where there are enough: with "
         "more processes than cores a call waits for the owner to be scheduled. On `loop` a one-sided "
         "operation is done by the client's own processor, at the speed of memory: no NIC is in it. How long "
         "it runs does not depend on --seconds, but on --operations. ")
UNITS = {"us": experiment.Unit("µs", "lower", "median"),
         "mean_us": experiment.Unit("µs", "lower", "mean"),
         "predicted_us": experiment.Unit("µs", "neither", "predicted"),
         "ratio": experiment.Unit("×", "neither", "measured, of predicted")}


class Program:
    """The setup of an experiment whose measurements are single runs of dds.

    `words_of(peer, point)` are its arguments; `values_of(result, peer)` picks from what it printed.
    """

    def __init__(self, settings, words_of, values_of):
        self.settings, self.words_of, self.values_of = settings, words_of, values_of

    def measure(self, peer, point, seconds):
        command = [self.settings.programs / "dds", *self.words_of(peer, point), "--json", "--fabric",
                   self.settings.fabric, "--operations", self.settings.operations, "--value-bytes",
                   self.settings.value_bytes]
        return self.values_of(processes.run_client(command, 30), peer)


def opener(words_of, values_of):
    """An experiment's `open`, of a Program."""
    @contextlib.contextmanager
    def open_program(settings):
        if not (settings.programs / "dds").is_file():
            raise experiment.Failed(f"there is no {settings.programs}/dds: ./dev build makes it")
        yield Program(settings, words_of, values_of)
    return open_program


def method_opener(command, methods):
    """Of `dds COMMAND`, each peer a method: measured, and predicted from components of the same run."""
    def words_of(peer, point):
        return [command, "--method", methods[peer], "--clients", point["clients"]]

    def values_of(result, peer):
        [method] = result["methods"]
        return {key: method[key] for key in (*UNITS, *COUNTS) if key in method}
    return opener(words_of, values_of)


def points(settings):
    return [{"clients": clients} for clients in settings.clients]


# How many component operations each took: retries and further buckets are what no formula has.
COUNTS = {key: experiment.Unit("", "neither", words) for key, words in (
    ("puts", "W each"), ("gets", "R each"), ("compare_swaps", "CAS each"), ("fetch_adds", "FAO each"),
    ("calls", "AM each"))}
