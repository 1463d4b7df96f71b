# SPDX-License-Identifier: Apache-2.0
"""bench/tool/tables.py: makes tables of results, for the HTML page, the documents and the terminal."""

import dataclasses

from tool import clock, noise, words

NEAR = 1.05  # ratios between 1/NEAR and NEAR count as neither better nor worse


@dataclasses.dataclass(frozen=True)
class Entry:
    text: str
    ratio: float | None = None  # the ratio to another peer's value
    good: bool | None = None  # True: better than the other peer's value; False: worse; None: neither
    near: bool = False  # the ratio is within the noise floor
    hint: str = ""  # a text that the HTML page shows if the mouse points at the entry


@dataclasses.dataclass
class Table:
    title: str
    header: list
    rows: list  # each row is a list: a name, then Entries
    to: str | None = None  # the name of the row to which the ratios are


class Cells:
    """Makes the entries of tables from one result, by peer and point."""

    def __init__(self, results, experiment):
        self.results, self.experiment = results, experiment
        self.broken = clock.broken(results, experiment)
        self.floors = {}

    def floor(self, key):
        if key not in self.floors:
            self.floors[key] = noise.floor(self.results, self.experiment, key)
        return self.floors[key]

    def text(self, point, peer, key, words_of):
        """Returns `words_of`, the text of a value, with a mark if Little's law contradicts the value."""
        return words_of + (f" {clock.MARK}" if (peer, str(point), key) in self.broken else "")

    def entry(self, point, peer, key, to):
        """Returns an Entry with the cell's median and its ratio to the peer `to`."""
        cell = self.results.cell(point, peer)
        summary = cell.summary(key)
        if summary is None:
            failed = bool(cell.rows) and not cell.good
            return Entry("failed", hint=cell.rows[-1]["error"]) if failed else Entry("–")
        failed = len(cell.rows) - len(cell.good)
        text = self.text(point, peer, key, words.number(summary.median))
        if failed:
            text += f" ({failed} of {len(cell.rows)} failed)"
        hint = f"{words.number(summary.lowest)} to {words.number(summary.highest)}"
        ratio = cell.ratio(self.results.cell(point, to), key)
        if peer == to or ratio is None:
            return Entry(text, hint=hint)
        near = noise.within(ratio.median, self.floor(key))
        good = None if near else is_good(ratio, self.experiment.units[key].better)
        return Entry(text, ratio.median, good, near, hint)


def is_good(ratio, better):
    """Returns True if the ratio is better than 1 in all rounds, False if it is worse in all rounds, otherwise None."""
    if better == "neither" or ratio.lowest <= 1 <= ratio.highest or noise.within(ratio.median, NEAR):
        return None
    return (ratio.median > 1) == (better == "higher")


def rows_of_chart(chart, results):
    """Returns the chart's peers, with the control after the peer that it repeats."""
    shown = chart.peers_in(results)
    return [name for name in results.rows_of_tables()
            if name in shown or name == results.control and results.facts["control"]["of"] in shown]


def of_chart(chart, results, experiment):
    """Returns a table for each panel of the chart: a row per peer, a column per x, and a column for the spread.

    A panel without any value has no table: an old result can lack a value.
    """
    tables, to = [], chart.to or results.peers[0]
    cells, unit = Cells(results, experiment), experiment.units[chart.y]
    for rest, points in chart.panels(results):
        rows = []
        for peer in rows_of_chart(chart, results):
            row = [cells.entry(point, peer, chart.y, to) for point in points]
            spreads = [one.spread for point in points
                       if (one := results.cell(point, peer).summary(chart.y)) and one.count > 1]
            rows.append([peer, *row, Entry(f"±{max(spreads) * 100:.0f} %" if spreads else "–")])
        if not any(one.text != "–" for row in rows for one in row[1:]):
            continue
        title = words.unit_words(chart.y, unit) + panel_words(chart, rest)
        if any(one.ratio is not None for row in rows for one in row[1:]):
            title += f" (n×: ratio to {to}; {noise.words(results, experiment, chart.y)})"
        tables.append(Table(title, ["", *heads(chart, points), "spread"], rows, to))
    return tables


def heads(chart, points):
    return [words.head_words(chart.x, point[chart.x]) if chart.x else "" for point in points]


def panel_words(chart, rest):
    where = words.point_words({key: value for key, value in {**chart.where, **rest}.items()
                               if key != chart.x})
    return f": {where}" if where else ""


def of_clients(results, experiment):
    """Returns tables of how evenly each load's clients were served, with the layout of the first chart's table."""
    if isinstance(experiment.clocks, str) or not experiment.charts:
        return []
    found, chart = [], experiment.charts[0]
    for each in experiment.clocks:
        for rest, points in chart.panels(results):
            if max(map(each.clients, points)) == 1:
                continue
            rows = [[peer, *(Entry(clients_words(results.cell(point, peer), each.prefix))
                             for point in points)] for peer in results.rows_of_tables()]
            if any(one.text != "–" for row in rows for one in row[1:]):
                load = each.prefix.rstrip("_")
                title = "Calls of the client with the fewest, and with the most" + (
                    f", {load}" if load else "") + panel_words(chart, rest)
                found.append(Table(title, ["", *heads(chart, points)], rows))
    return found


def clients_words(cell, prefix):
    """Returns words such as `3–17, 4 cut off`: the fewest and the most calls of a client in any round, and the median
    number of calls that were in flight at the end."""
    fewest, most = cell.values(f"{prefix}fewest"), cell.values(f"{prefix}most")
    if not fewest or not most:
        return "–"
    cut_off = cell.summary(f"{prefix}cut_off")
    return f"{min(fewest):,}–{max(most):,}" + (
        f", {cut_off.median:,.0f} cut off" if cut_off and cut_off.median else "")


def of_all(results, experiment):
    """Returns a table of every value of every peer at every point: median, lowest and highest round."""
    units, cells_of = experiment.units, Cells(results, experiment)
    shown = [key for key in units
             if any(key in row.get("values", {}) for row in results.rows)]
    peers = results.rows_of_tables()
    if len(results.points) * len(results.peers) == 1:
        rows = [[units[key].words or key, *(with_reach(cells_of, results.points[0], peer, key)
                                            for peer in peers), Entry(units[key].label)]
                for key in shown]
        return Table("", ["", *peers, ""], rows)
    cells = [(point, peer) for point in results.points for peer in peers]
    keys = list(results.points[0])
    rows = [[peer, *(Entry(words.tick_words(key, point[key])) for key in keys),
             *(with_reach(cells_of, point, peer, key) for key in shown)] for point, peer in cells]
    return Table("", ["", *(words.axis_words(key) for key in keys),
                      *(words.unit_words(key, units[key]) for key in shown)], rows)


def with_reach(cells, point, peer, key):
    cell = cells.results.cell(point, peer)
    summary = cell.summary(key)
    if summary is None:
        return Entry("failed" if cell.rows and not cell.good else "–")
    reach = f" ({words.number(summary.lowest)} to {words.number(summary.highest)})"
    return Entry(cells.text(point, peer, key,
                            words.number(summary.median) + (reach if summary.count > 1 else "")))


def of_goals(experiment, results):
    """Returns a table of the goals and the measured values, or None if the experiment has no goals."""
    rows = [goal_row(goal, results, experiment)
            for goal in experiment.goals_of(results.facts["options"])]
    return Table("Goals", ["", "wanted", "measured", "rounds", "reached"], rows) if rows else None


def goal_row(goal, results, experiment):
    wanted = (f"at most {goal.at_most:,}" if goal.at_most is not None
              else f"at least {goal.at_least:,}")
    cell = cell_of(results, goal.point, goal.peer)
    if goal.to or goal.to_point:
        other = cell_of(results, goal.to_point or goal.point, goal.to or goal.peer)
        summary = cell.ratio(other, goal.value) if cell and other else None
    else:
        summary = cell.summary(goal.value) if cell else None
    if summary is None:
        return [goal.words, Entry(wanted), Entry("not measured"), Entry(""), Entry("")]
    value = summary.median
    bound = goal.at_most if goal.at_most is not None else goal.at_least
    kept = value <= bound if goal.at_most is not None else value >= bound
    near = noise.within(value / bound, noise.floor(results, experiment, goal.value))
    return [goal.words, Entry(wanted), Entry(words.number(value)),
            Entry(f"{words.number(summary.lowest)} to {words.number(summary.highest)}"),
            Entry(("yes" if kept else "no") + (", within the noise floor" if near else ""),
                  good=None if near else kept)]


def cell_of(results, part, peer):
    """Returns the peer's cell at the point that has the keys and values of `part`, or None if not exactly one does."""
    found = [point for point in results.points if part.items() <= point.items()]
    return results.cell(found[0], peer) if len(found) == 1 else None


def ratio_words(ratio):
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"


def entry_words(entry):
    if entry.ratio is None:
        return entry.text
    return f"{entry.text} · {'≈' if entry.near else ''}{ratio_words(entry.ratio)}"


def markdown(table):
    lines = ["| " + " | ".join(table.header) + " |", "|---|" + "---:|" * (len(table.header) - 1)]
    for name, *entries in table.rows:
        lines.append("| " + " | ".join([name, *map(entry_words, entries)]) + " |")
    title = [f"**{table.title}**", ""] if table.title else []
    return "\n".join(title + lines) + "\n"


def text(table):
    """Returns the table as text for a terminal."""
    rows = [table.header] + [[name, *map(entry_words, entries)] for name, *entries in table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.header))]
    lines = [f"{table.title}"] if table.title else []
    for name, *others in rows:
        placed = [one.rjust(width) for one, width in zip(others, widths[1:])]
        lines.append("  " + "  ".join([name.ljust(widths[0]), *placed]))
    return "\n".join(line.rstrip() for line in lines) + "\n"
