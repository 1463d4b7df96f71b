# SPDX-License-Identifier: Apache-2.0
"""bench/tool/experiment.py: what an experiment is, and where they are found.

A module of bench/experiments holds one, called EXPERIMENT. It says what is compared (peers), where
(points), and how one measurement is made (open). Everything else, the turns, the progress, the
files and the reports, is the tool's. bench/experiments/echo.py is one to read first.
"""

import dataclasses
import importlib
import pathlib
from typing import Any, Callable

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "experiments"


class Failed(Exception):
    """A measurement did not come about; the message is for the reader of the report.

    Any other exception of measure() is recorded as well, with its type.
    """


@dataclasses.dataclass(frozen=True)
class Option:
    """An option of this experiment alone: settings.local for --local.

    What it takes follows from the default: False makes it a switch, a list one or more numbers with
    commas between, anything else one value of its type. Where it is not the default, the results
    are kept beside those of the default, under a name with the option in it. `quick` is the default
    of --quick runs, where it is another.
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
    """Of one value that measure() returns."""
    label: str  # as calls/s or µs
    better: str = "lower"  # or "higher", or "neither"
    words: str = ""  # what it is, where the key does not say it: "CPU of both sidecars"


@dataclasses.dataclass(frozen=True)
class Goal:
    """What was wanted of a value: itself, or its ratio to another peer's."""
    words: str
    value: str
    peer: str
    point: dict  # the point, or the part of it that finds exactly one
    to: str | None = None  # the peer that it is divided by, round by round
    at_most: float | None = None
    at_least: float | None = None


@dataclasses.dataclass
class Experiment:
    name: str  # as on the command line
    title: str
    question: str  # one sentence: what it answers
    peers: list | Callable  # names, or a function of the settings; the first is what ratios are to
    points: list | Callable  # dicts, all with the same keys, or a function of the settings
    open: Callable  # @contextmanager (settings) -> setup; see below
    units: dict  # of the values to show, in their order: a Unit, or its label alone
    clocks: tuple | str  # clock.Clock of each load that is measured; or why Little's law says nothing here
    measures: tuple  # files and folders of the code that it measures, from the repository's root
    same_code: tuple = ()  # (a peer, another) that differ in nothing but their names
    source: str | None = None  # what it follows: a paper's figure
    seconds: float = 1.0  # of one measurement
    rounds: int = 3
    warm_up: float = 0.2  # seconds, before each peer's first measurement at a point; not counted
    options: list = dataclasses.field(default_factory=list)
    charts: list = dataclasses.field(default_factory=list)
    goals: list | Callable = ()  # Goals, or a function of the run's options: {"--local": "shm"}
    notes: str = ""  # for who reads the numbers: what they are, and what they are not

    # setup.measure(peer, point, seconds) -> dict: one measurement, a number for each value that it
    # has. An empty one says that this peer has nothing to measure there. It raises Failed where it
    # did not come about; the row then holds the error, and the run goes on.
    #
    # setup.versions, where there is one: a dict of what is kept beside the results, as
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
    """A label alone says it: of rates more is better, of all else less."""
    if isinstance(unit, Unit):
        return unit
    return Unit(unit, "higher" if unit.endswith("/s") else "lower")


def names():
    return sorted(file.stem.replace("_", "-") for file in FOLDER.glob("*.py"))


def load(name):
    """The experiment of that name; KeyError where there is none."""
    if name not in names():
        raise KeyError(name)
    return importlib.import_module(f"experiments.{name.replace('-', '_')}").EXPERIMENT
