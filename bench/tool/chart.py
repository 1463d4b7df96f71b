"""bench/tool/chart.py: what an experiment's charts show; drawn by tool/plots.py.

What `where` and the axis leave open of the points, becomes panels of one chart, side by side.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Chart:
    y: str  # the value on the upright axis, a key of the experiment's units
    x: str | None  # the key of the points on the other; None where there is one point
    title: str
    where: dict = dataclasses.field(default_factory=dict)  # only points like this
    peers: tuple = ()  # these alone; () for all
    log_x: bool = False
    log_y: bool = False


class Lines(Chart):
    """A line for each peer; upright bars from the lowest to the highest round."""


class Bars(Chart):
    """A bar for each peer in each group of x."""
