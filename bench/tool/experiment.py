# SPDX-License-Identifier: Apache-2.0
"""bench/tool/experiment.py: the class Experiment, and a function that loads the experiments of bench/experiments.

Each module of bench/experiments defines an experiment, EXPERIMENT. An experiment names the set-ups that it compares
(peers), the parameters of the measurements (points), and the code that makes one measurement (open). `./dev bench`
does the rest: it decides the order of measurements, shows progress, and writes files and reports. Read
bench/experiments/echo.py first.

A peer here is a set-up in a benchmark. Elsewhere in this repository, a peer is a remote hatrpcd.
"""

import dataclasses
import importlib
import pathlib
from typing import Any, Callable

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "experiments"


class Failed(Exception):
    """A measurement failed. The report shows the message.

    measure() may also raise other exceptions; the report shows these with their types.
    """


@dataclasses.dataclass(frozen=True)
class Option:
    """An option of one experiment. The value of an option --local is settings.local.

    The type of the default decides the values of the option: False: a switch without a value; a list: numbers
    separated by commas; otherwise: one value of the default's type. Results of a run with another value than the
    default are kept under a name that contains the option. `quick` is the default of --quick runs, if it differs.
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
    words: str = ""  # a description of the value, such as "CPU of both sidecars"; default: the value's key


@dataclasses.dataclass(frozen=True)
class Goal:
    """A bound for a value of one peer, or for the ratio of this value to that of another peer or of another point."""
    words: str
    value: str
    peer: str
    point: dict  # the point, or enough of its keys to select exactly one point
    to: str | None = None  # the peer by whose value the value is divided, in each round; default: `peer` with `to_point`
    to_point: dict | None = None  # the point of that value; default: `point`
    at_most: float | None = None
    at_least: float | None = None


@dataclasses.dataclass
class Model:
    """Modelled hosts, for which a run computes its values in virtual time."""
    hosts: str  # their name
    seconds: float  # length of one computation, in virtual time


@dataclasses.dataclass
class Experiment:
    name: str  # as on the command line
    title: str
    question: str  # one sentence: the question that the experiment answers
    peers: list | Callable  # names, or a function of the settings; ratios are to the first peer
    points: list | Callable  # dicts, all with the same keys, or a function of the settings
    open: Callable  # a context manager (settings) -> setup, whose members are described below
    units: dict  # a Unit, or only its label, for each value to show, in this order
    clocks: tuple | str  # a clock.Clock for each measured load, or the reason why Little's law does not apply
    measures: tuple  # files and folders of the measured code, relative to the repository's root
    same_code: tuple = ()  # pairs of peers that differ only in their names
    source: str | None = None  # the figure of a paper that the experiment repeats
    seconds: float = 1.0  # length of one measurement
    rounds: int = 3
    warm_up: float = 0.2  # seconds, before each peer's first measurement at a point; not counted
    options: list = dataclasses.field(default_factory=list)
    charts: list = dataclasses.field(default_factory=list)
    goals: list | Callable = ()  # Goals, or a function of the run's options: {"--local": "shm"}
    notes: str | Callable = ""  # explains to readers what the numbers mean; or a function of the run's options
    model: Callable = lambda settings: None  # a function of the settings: the Model, or None if the run measures

    # A setup has two members:
    #
    # measure(peer, point, seconds) makes one measurement, and returns a dict with a number for each value. It returns
    # {} if there is nothing to measure for this peer at this point. It raises Failed if the measurement fails; then
    # the error is recorded, and the run continues.
    #
    # versions (optional) is a dict of versions to keep with the results, such as {"HAProxy": "2.6.12"}.

    def __post_init__(self):
        self.units = {key: unit_of(unit) for key, unit in self.units.items()}

    def peers_of(self, settings):
        return list(self.peers(settings) if callable(self.peers) else self.peers)

    def goals_of(self, options):
        return list(self.goals(options) if callable(self.goals) else self.goals)

    def notes_of(self, options):
        return (self.notes(options) if callable(self.notes) else self.notes).rstrip()

    def usual(self, settings):
        """Returns the default length of a measurement in seconds, and the default number of rounds."""
        model = self.model(settings)  # it computes the same values in each round
        return (model.seconds, 1) if model else (self.seconds, self.rounds)

    def points_of(self, settings):
        return list(self.points(settings) if callable(self.points) else self.points)


def unit_of(unit):
    """Returns a Unit for a label. Higher is better for rates, whose labels end in /s; lower is better otherwise."""
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
