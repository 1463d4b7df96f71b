# SPDX-License-Identifier: Apache-2.0
"""bench/tool/chart.py: what a chart shows; tool/plots.py draws it, tool/tables.py tells it.

What `where` and the axis leave open of the points becomes panels of one chart, side by side.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Chart:
    y: str  # the value on the upright axis, a key of the experiment's units
    x: str | None  # the key of the points on the other; None where they have none
    title: str
    where: dict = dataclasses.field(default_factory=dict)  # only points like this
    peers: tuple = ()  # these alone; () for all
    to: str | None = None  # the peer that ratios in its table are to; None for the first of all
    log_x: bool = False
    log_y: bool = False
    in_docs: bool = True  # whether docs/results.md has its table, or report.html alone

    def peers_in(self, results):
        return [peer for peer in results.peers if not self.peers or peer in self.peers]

    def panels(self, results):
        """[(what its points have in common beside `where`, its points)], in their order."""
        found = {}
        for point in results.points:
            if (self.x is None or self.x in point) and self.where.items() <= point.items():
                rest = {key: value for key, value in point.items()
                        if key != self.x and key not in self.where}
                found.setdefault(tuple(rest.items()), []).append(point)
        return [(dict(rest), points) for rest, points in found.items()]


class Lines(Chart):
    """A line for each peer; upright bars reach from the lowest round to the highest."""


class Bars(Chart):
    """A bar for each peer, in a group for each x."""
