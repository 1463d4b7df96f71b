"""bench/tool/tables.py: what was measured as tables: for page, documents and terminal."""

import dataclasses

from tool import words

NEAR = 0.05  # a ratio this close to 1 is neither better nor worse


@dataclasses.dataclass(frozen=True)
class Entry:
    text: str
    ratio: float | None = None  # to another peer's
    good: bool | None = None  # whether that is better; None: neither
    hint: str = ""  # shown by a page when pointed at


@dataclasses.dataclass
class Table:
    title: str
    header: list
    rows: list  # of lists: a name, then Entries
    to: str | None = None  # the name of the row that ratios are to


def entry(results, units, point, peer, key, to):
    """A cell's median, and its ratio to that of the peer `to`."""
    cell = results.cell(point, peer)
    summary = cell.summary(key)
    if summary is None:
        failed = bool(cell.rows) and not cell.good
        return Entry("failed", hint=cell.rows[-1]["error"]) if failed else Entry("–")
    failed = len(cell.rows) - len(cell.good)
    text = words.number(summary.median)
    if failed:
        text += f" ({failed} of {len(cell.rows)} failed)"
    hint = f"{words.number(summary.lowest)} to {words.number(summary.highest)}"
    ratio = cell.ratio(results.cell(point, to), key)
    if peer == to or ratio is None:
        return Entry(text, hint=hint)
    return Entry(text, ratio.median, is_good(ratio, units[key].better), hint)


def is_good(ratio, better):
    """Only where the rounds agree."""
    if better == "neither" or ratio.lowest <= 1 <= ratio.highest or abs(ratio.median - 1) <= NEAR:
        return None
    return (ratio.median > 1) == (better == "higher")


def of_chart(chart, results, units):
    """A table for each of its panels: peers by x, and how far rounds lay apart at most."""
    tables, to = [], chart.to or results.peers[0]
    for rest, points in chart.panels(results):
        peers = chart.peers_in(results)
        rows = []
        for peer in peers:
            row = [entry(results, units, point, peer, chart.y, to) for point in points]
            spreads = [one.spread for point in points
                       if (one := results.cell(point, peer).summary(chart.y)) and one.count > 1]
            rows.append([peer, *row, Entry(f"±{max(spreads) * 100:.0f} %" if spreads else "–")])
        heads = [words.head_words(chart.x, point[chart.x]) if chart.x else "" for point in points]
        where = words.point_words({key: value for key, value in {**chart.where, **rest}.items()
                                   if key != chart.x})
        title = words.unit_words(chart.y, units[chart.y]) + (f": {where}" if where else "")
        ratios = any(one.ratio is not None for row in rows for one in row[1:])
        tables.append(Table(title + (f" (n×: to {to})" if ratios else ""),
                            ["", *heads, "spread"], rows, to))
    return tables


def of_all(results, units):
    """Every value of every peer at every point, with the lowest and highest round."""
    shown = [key for key in units
             if any(key in row.get("values", {}) for row in results.rows)]
    cells = [(point, peer) for point in results.points for peer in results.peers]
    if len(cells) == 1:
        rows = [[units[key].words or key, with_reach(results, *cells[0], key),
                 Entry(units[key].label)] for key in shown]
        return Table("", ["", cells[0][1], ""], rows)
    keys = list(results.points[0])
    rows = [[peer, *(Entry(words.tick_words(key, point[key])) for key in keys),
             *(with_reach(results, point, peer, key) for key in shown)] for point, peer in cells]
    return Table("", ["", *(words.axis_words(key) for key in keys),
                      *(words.unit_words(key, units[key]) for key in shown)], rows)


def with_reach(results, point, peer, key):
    cell = results.cell(point, peer)
    summary = cell.summary(key)
    if summary is None:
        return Entry("failed" if cell.rows and not cell.good else "–")
    reach = f" ({words.number(summary.lowest)} to {words.number(summary.highest)})"
    return Entry(words.number(summary.median) + (reach if summary.count > 1 else ""))


def of_goals(experiment, results):
    """What was wanted, beside what is; None where nothing was."""
    rows = [goal_row(goal, results) for goal in experiment.goals_of(results.facts["options"])]
    return Table("Wanted", ["", "wanted", "measured", "rounds", "kept"], rows) if rows else None


def goal_row(goal, results):
    wanted = (f"at most {goal.at_most:,}" if goal.at_most is not None
              else f"at least {goal.at_least:,}")
    found = [point for point in results.points if goal.point.items() <= point.items()]
    summary = None
    if len(found) == 1:
        cell = results.cell(found[0], goal.peer)
        summary = (cell.ratio(results.cell(found[0], goal.to), goal.value) if goal.to
                   else cell.summary(goal.value))
    if summary is None:
        return [goal.words, Entry(wanted), Entry("not measured"), Entry(""), Entry("")]
    value = summary.median
    kept = value <= goal.at_most if goal.at_most is not None else value >= goal.at_least
    return [goal.words, Entry(wanted), Entry(words.number(value)),
            Entry(f"{words.number(summary.lowest)} to {words.number(summary.highest)}"),
            Entry("yes" if kept else "no", good=kept)]


def ratio_words(ratio):
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"


def entry_words(entry):
    return entry.text if entry.ratio is None else f"{entry.text} · {ratio_words(entry.ratio)}"


def markdown(table):
    lines = ["| " + " | ".join(table.header) + " |", "|---|" + "---:|" * (len(table.header) - 1)]
    for name, *entries in table.rows:
        lines.append("| " + " | ".join([name, *map(entry_words, entries)]) + " |")
    title = [f"**{table.title}**", ""] if table.title else []
    return "\n".join(title + lines) + "\n"


def text(table):
    """For a terminal."""
    rows = [table.header] + [[name, *map(entry_words, entries)] for name, *entries in table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.header))]
    lines = [f"{table.title}"] if table.title else []
    for name, *others in rows:
        placed = [one.rjust(width) for one, width in zip(others, widths[1:])]
        lines.append("  " + "  ".join([name.ljust(widths[0]), *placed]))
    return "\n".join(line.rstrip() for line in lines) + "\n"
