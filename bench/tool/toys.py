# SPDX-License-Identifier: Apache-2.0
"""bench/tool/toys.py: helps tests of `./dev bench`: an experiment that takes no time, and a run of a command line."""

import contextlib
import io
import pathlib
import tempfile
import types
import unittest
from unittest import mock

from tool import __main__ as main
from tool import chart, clock, experiment, machine, quiet, results


QUIET = quiet.Sample(2, 0.01, {})


def speed(peer, point, seconds):
    """Returns invented values of a measurement, in which peer b is twice as fast as peer a."""
    return {"calls_per_s": point["clients"] * (2000 if peer == "b" else 1000), "p50_us": 12.5}


def honest(clients, mean_us, think_us=0.0, **more):
    """Returns values of a load for which Little's law holds."""
    return {"calls_per_s": clients / (mean_us + think_us) * 1e6, "p50_us": mean_us, "mean_us": mean_us,
            "think_us": think_us, "fewest": 90, "most": 110, "cut_off": clients, **more}


def toy(measure=speed, **more):
    @contextlib.contextmanager
    def open_toy(settings):
        yield types.SimpleNamespace(measure=measure, versions={"toy": "1.2"})

    return experiment.Experiment(**{**dict(
        name="toy", title="A toy", question="Which is quicker?", peers=["a", "b"],
        points=[{"clients": 1}, {"clients": 8}], open=open_toy, rounds=2, warm_up=0,
        clocks=(clock.Clock(("p50_us",)),), measures=("bench",),
        units={"calls_per_s": "calls/s", "p50_us": "µs"},
        charts=[chart.Lines("calls_per_s", "clients", "Calls")]), **more})


class Tool(unittest.TestCase):
    """A test case that runs command lines of `./dev bench` in a temporary folder, with one experiment."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hatrpc-tool-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tool(self, one, *words, sample=QUIET, changes=(0, ""), out=True):
        """Runs a command line; returns (exit status, stdout, stderr). `changes`: commits that changed the code."""
        said, errors = io.StringIO(), io.StringIO()
        words = [*words, "--out", str(self.folder)] if out else words
        with mock.patch.object(experiment, "load", lambda name: one), \
                mock.patch.object(machine, "commit", lambda: ("0123456789", False)), \
                mock.patch.object(machine, "changes_since", lambda *_: changes), \
                mock.patch.object(quiet, "sample", lambda: sample), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
            status = main.main(list(words))
        return status, said.getvalue(), errors.getvalue()

    def results(self, name="toy"):
        return results.read(self.folder / name / results.FILE)
