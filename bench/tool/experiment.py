# SPDX-License-Identifier: Apache-2.0
"""bench/tool/experiment.py: defines an experiment, and loads the experiments of bench/experiments.

Each module of bench/experiments defines one, called EXPERIMENT. It names the set-ups that compete
(peers), the parameters of the measurements (points), and the code that makes one measurement (open).
The tool does the rest: it takes turns, shows progress, and writes files and reports. Read
bench/experiments/echo.py first.

A peer here is a set-up in a benchmark; elsewhere in this repository a peer is a remote hatrpcd.
"""

import dataclasses
import importlib
import pathlib
from typing import Any, Callable

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "experiments"


class Failed(Exception):
    """A measurement failed; the message is for the reader of the report.

    The tool records any other exception of measure() too, with its type.
    """


@dataclasses.dataclass(frozen=True)
class Option:
    """An option of one experiment; --local becomes settings.local.

    The default decides what the option takes: with False it is a switch; with a list it takes numbers
    separated by commas; otherwise it takes one value of the default's type. If the option is not at
    its default, the tool keeps the results under a name that contains the option, beside those of the
    default. `quick` is the default of --quick runs, if it differs.
    """
    flag: str
    help: str
    default: Any = None
    choices: tuple | None = None
    quick: Any = None

    def default_of(self, quick):
        return self.quick if quick and self.quick is not None else self.default

    @property
    def key(self):
        return self.flag.lstrip("-").replace("-", "_")


@dataclasses.dataclass(frozen=True)
class Unit:
    """The unit of one value that measure() returns."""
    label: str  # for example calls/s or µs
    better: str = "lower"  # or "higher", or "neither"
    words: str = ""  # describes the value if its key does not: "CPU of both sidecars"


@dataclasses.dataclass(frozen=True)
class Goal:
    """A bound that a value of one peer, or its ratio to another peer's value, should keep."""
    words: str
    value: str
    peer: str
    point: dict  # the point, or enough of its keys to find exactly one
    to: str | None = None  # the peer by whose value this one is divided, round by round
    at_most: float | None = None
    at_least: float | None = None


@dataclasses.dataclass
class Experiment:
    name: str  # as on the command line
    title: str
    question: str  # one sentence: the question that the experiment answers
    peers: list | Callable  # names, or a function of the settings; ratios are to the first one
    points: list | Callable  # dicts, all with the same keys, or a function of the settings
    open: Callable  # @contextmanager (settings) -> setup; see below
    units: dict  # a Unit, or only its label, for each value to show, in this order
    clocks: tuple | str  # a clock.Clock for each load that is measured; or why Little's law does not apply
    measures: tuple  # files and folders of the code that it measures, relative to the repository's root
    same_code: tuple = ()  # pairs of peers that differ only in their names
    source: str | None = None  # the figure of a paper that the experiment repeats
    seconds: float = 1.0  # length of one measurement
    rounds: int = 3
    warm_up: float = 0.2  # seconds, before each peer's first measurement at a point; not counted
    options: list = dataclasses.field(default_factory=list)
    charts: list = dataclasses.field(default_factory=list)
    goals: list | Callable = ()  # Goals, or a function of the run's options: {"--local": "shm"}
    notes: str = ""  # tells readers what the numbers mean, and what they do not mean

    # setup.measure(peer, point, seconds) -> dict: makes one measurement and returns a number for each
    # of its values; {} if there is nothing to measure for this peer at this point. It raises Failed if
    # the measurement fails; the tool then records the error in the row and continues the run.
    #
    # setup.versions (optional): a dict of versions to keep with the results, such as
    # {"HAProxy": "2.6.12"}.

    def __post_init__(self):
        self.units = {key: unit_of(unit) for key, unit in self.units.items()}

    def peers_of(self, settings):
        return list(self.peers(settings) if callable(self.peers) else self.peers)

    def goals_of(self, options):
        return list(self.goals(options) if callable(self.goals) else self.goals)

    def points_of(self, settings):
        return list(self.points(settings) if callable(self.points) else self.points)


def unit_of(unit):
    """Makes a Unit from a label: for rates (…/s) higher is better, for all other values lower."""
    if isinstance(unit, Unit):
        return unit
    return Unit(unit, "higher" if unit.endswith("/s") else "lower")


def names():
    return sorted(file.stem.replace("_", "-") for file in FOLDER.glob("*.py"))


def load(name):
    """Returns the experiment of that name; raises KeyError if there is none."""
    if name not in names():
        raise KeyError(name)
    return importlib.import_module(f"experiments.{name.replace('-', '_')}").EXPERIMENT
