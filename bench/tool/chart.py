# SPDX-License-Identifier: Apache-2.0
"""bench/tool/chart.py: describes a chart of an experiment. tool/plots.py draws it; tool/tables.py makes its table.

A chart has a panel for each combination of values of the points' keys, except the key on the x axis and the keys in
`where`.
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
    """A chart with a line for each peer. Its error bars reach from the lowest round to the highest round."""


class Bars(Chart):
    """A chart with a group of bars for each value on the x axis, and a bar for each peer in the group."""
