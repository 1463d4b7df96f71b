# SPDX-License-Identifier: Apache-2.0
"""bench/tool/chart.py: describes a chart; tool/plots.py draws it, and tool/tables.py makes tables of it.

`where` and the x axis fix some keys of the points. The chart has a panel for each combination of values of the
other keys.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Chart:
    y: str  # the value on the y axis, a key of the experiment's units
    x: str | None  # the key of the points on the x axis; None if the points have no keys
    title: str
    where: dict = dataclasses.field(default_factory=dict)  # shows only the points with these values
    peers: tuple = ()  # shows only these peers; () for all
    to: str | None = None  # the peer to which ratios in the table are; None for the first of all
    log_x: bool = False
    log_y: bool = False
    in_docs: bool = True  # whether docs/results.md has the chart's table; report.html always has it

    def peers_in(self, results):
        return [peer for peer in results.peers if not self.peers or peer in self.peers]

    def panels(self, results):
        """Returns the panels as [(the values that its points share, without those in `where`, its points)]."""
        found = {}
        for point in results.points:
            if (self.x is None or self.x in point) and self.where.items() <= point.items():
                rest = {key: value for key, value in point.items()
                        if key != self.x and key not in self.where}
                found.setdefault(tuple(rest.items()), []).append(point)
        return [(dict(rest), points) for rest, points in found.items()]


class Lines(Chart):
    """A line for each peer; error bars reach from the lowest round to the highest."""


class Bars(Chart):
    """A bar for each peer, in a group for each x."""
