# SPDX-License-Identifier: Apache-2.0
"""bench/tool/plots.py: draws a chart as SVG, with the command of the measurement at the bottom."""

import html
import io
import itertools
import math
import re

import matplotlib

from tool import chart as charts
from tool import machine, words

matplotlib.use("svg")
from matplotlib import pyplot, ticker  # noqa: E402

COLUMNS_MAX = 2
PANEL = (4.7, 3.1)  # inches
# The first peer is grey. Colour-blind readers can distinguish the colours of the other peers (Okabe, Ito).
BASELINE = "#777777"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MANY = (0, 2, 4, 6, 8, 10, 12, 16, 18, 1, 3, 5, 7, 9, 11, 13, 17, 19)  # the colours of tab20, without its greys
MARKERS = "osD^v<>pPXh*d"
STYLE = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9,
    "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans", "Liberation Sans"],
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#999999",
    "axes.titlesize": 10, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.axisbelow": True, "axes.grid": True, "grid.color": "#e6e6e6", "grid.linewidth": 0.7,
    "xtick.color": "#444444", "ytick.color": "#444444", "legend.frameon": False,
    "figure.facecolor": "white",
}


def draw(chart, results, units):
    """Returns the chart as an SVG element, or None if none of its values was measured."""
    panels, peers = chart.panels(results), chart.peers_in(results)
    if not any(results.cell(point, peer).values(chart.y)
               for _, points in panels for point in points for peer in peers):
        return None
    name = re.sub(r"\W+", "-", f"{results.name} {chart.title}")
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        columns = min(COLUMNS_MAX, len(panels))
        rows = math.ceil(len(panels) / columns)
        height = max(PANEL[1] * rows + 0.6, 0.19 * len(peers) + 0.9)
        figure, axes = pyplot.subplots(rows, columns, squeeze=False, figsize=(
            PANEL[0] * columns + legend_width(peers), height))
        places = axes.flatten()
        for (rest, points), axis in zip(panels, places):
            of_kind = bars if isinstance(chart, charts.Bars) else lines
            of_kind(axis, chart, results, points, peers)
            words_of_axes(axis, chart, units[chart.y], points, rest)
        for axis in places[len(panels):]:
            axis.set_visible(False)
        frame(figure, places, chart, results)
        return svg(figure, chart.title)


def legend_width(peers):
    """Returns the width of the legend, in inches."""
    return 0.7 + 0.07 * max(map(len, peers))


def colours(peers):
    """Returns a colour for each peer. A peer has the same colour in all charts of an experiment."""
    many = [pyplot.get_cmap("tab20").colors[i] for i in MANY]
    others = COLOURS if len(peers) - 1 <= len(COLOURS) else many
    return dict(zip(peers, itertools.chain([BASELINE], itertools.cycle(others))))


def summaries(chart, results, points, peer):
    return [results.cell(point, peer).summary(chart.y) for point in points]


def reach(summary):
    return summary.median - summary.lowest, summary.highest - summary.median


def lines(axis, chart, results, points, peers):
    colour_of = colours(results.peers)
    marker_of = {peer: MARKERS[i % len(MARKERS)] for i, peer in enumerate(results.peers)}
    for peer in peers:
        found = [(point[chart.x], one) for point, one in
                 zip(points, summaries(chart, results, points, peer)) if one]
        if not found:
            continue
        below, above = zip(*(reach(one) for _, one in found))
        axis.errorbar([x for x, _ in found], [one.median for _, one in found], (below, above),
                      label=peer, color=colour_of[peer], marker=marker_of[peer],
                      markersize=4.5, linewidth=1.6, elinewidth=0.8, capsize=2,
                      linestyle="--" if peer == results.peers[0] else "-")
    values = [point[chart.x] for point in points]
    if chart.log_x:
        axis.set_xscale("log", base=2)
    axis.set_xticks(values, [words.short_words(chart.x, value) for value in values])
    axis.xaxis.set_minor_locator(ticker.NullLocator())


def bars(axis, chart, results, points, peers):
    colour_of = colours(results.peers)
    width = 0.8 / len(peers)
    for i, peer in enumerate(peers):
        found = [(place, one) for place, one in
                 enumerate(summaries(chart, results, points, peer)) if one]
        if not found:
            continue
        below, above = zip(*(reach(one) for _, one in found))
        drawn = axis.bar([place + (i - (len(peers) - 1) / 2) * width for place, _ in found],
                         [one.median for _, one in found], width * 0.92, yerr=(below, above),
                         label=peer, color=colour_of[peer],
                         error_kw={"elinewidth": 0.8, "ecolor": "#333333"})
        if len(points) * len(peers) <= 16:
            axis.bar_label(drawn, [words.number(one.median) for _, one in found], padding=2,
                           fontsize=8, color="#333333")
    names = [words.short_words(chart.x, point[chart.x]) if chart.x else "" for point in points]
    axis.set_xticks(range(len(points)), names)
    axis.grid(axis="x", visible=False)


def words_of_axes(axis, chart, unit, points, rest):
    if chart.log_y:
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(ticker.LogLocator(base=10, subs=(1, 2, 5)))
        axis.yaxis.set_minor_locator(ticker.NullLocator())
    else:
        axis.set_ylim(bottom=0)
    axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_xlabel(words.axis_words(chart.x) if chart.x and len(points) > 1 else "")
    axis.set_ylabel(unit.label + {"higher": "  (more is better)", "lower": "  (less is better)"}
                    .get(unit.better, ""))
    if rest:
        axis.set_title(words.point_words(rest))


def frame(figure, axes, chart, results):
    facts, peers = results.facts, chart.peers_in(results)
    right = 1 - legend_width(peers) / figure.get_figwidth()
    figure.suptitle(chart.title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    foot = (f"{facts['command']}   ·   {machine.kind(facts['machine'])}   ·   "
            f"{facts['date'][:10]}   ·   commit {facts['commit']}{'+' if facts['changed'] else ''}")
    figure.text(0.01, 0.008, foot, fontsize=7, color="#777777")
    drawn = {label: handle for axis in axes
             for handle, label in zip(*axis.get_legend_handles_labels())}
    shown = [peer for peer in peers if peer in drawn]
    figure.tight_layout(rect=(0, 0.03, right, 1))
    figure.legend([drawn[peer] for peer in shown], shown, loc="center left", fontsize=9,
                  bbox_to_anchor=(right, 0.5))


NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def svg(figure, title):
    """Returns the figure's <svg> element, without the XML header and without ids that nothing refers to."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata=NO_METADATA)
    pyplot.close(figure)
    element = text.getvalue()[text.getvalue().index("<svg"):]
    used = set(re.findall(r"""(?:url\(|href=")#([^)"]+)""", element))
    element = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", element)
    end = element.index(">") + 1
    return f"{element[:end]}<title>{html.escape(title)}</title>{element[end:]}"
