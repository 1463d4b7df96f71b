# SPDX-License-Identifier: Apache-2.0
"""bench/tool/report.py: makes one HTML page of all results. The page contains its plots, and loads no other file."""

import datetime
import html
import pathlib

from tool import age, clock, machine, noise, plots, tables, words

FILE, PUBLISHED_FILE = "report.html", "published.html"
ROWS_OPEN_MAX = 20  # longer tables under a chart are folded
STYLE = pathlib.Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def write(file, found, experiment_of):
    """Writes the page to `file` and returns `file`. `experiment_of` is a function that returns the named Experiment."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page(found, experiment_of), encoding="utf-8")
    return file


PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>hatrpc: measurements</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
{style}</style></head>
<body><h1>hatrpc: measurements</h1>
<p class="soft">{machines}. Written {date} by <code>./dev bench report</code>.{apart} In plots,
thin bars reach from the lowest round to the highest. In tables, n× is the median of the rounds’ own
ratios to the shaded row, in colour where all rounds agree which is better; ≈ marks a ratio within the
run’s noise floor, † a latency that Little’s law contradicts; ± is half of what lies between the
lowest and the highest round, in the column where that is most.</p>
<nav>{links}</nav>
{sections}
</body></html>
"""
APART = " Numbers of different machines are shown apart, and are not to be compared."


def page(found, experiment_of):
    kinds = by_machine(found)
    sections, links = [], []
    for kind, of_kind in kinds.items():
        if len(kinds) > 1:
            sections.append(f'<h2 class="machine">On {text(kind)}</h2>')
        for one in of_kind:
            experiment = experiment_of(one.facts["experiment"])
            sections.append(section(one, experiment))
            links.append(f'<a href="#{text(one.name)}"><b>{text(one.name)}</b>'
                         f"<span>{text(experiment.question)}</span></a>")
    return PAGE.format(style=STYLE, machines=text("; ".join(kinds)), links="".join(links),
                       date=datetime.date.today().isoformat(), sections="\n".join(sections),
                       apart=APART if len(kinds) > 1 else "")


def by_machine(found):
    kinds = {}
    for one in found:
        kinds.setdefault(machine.kind(one.facts["machine"]), []).append(one)
    return kinds


def section(one, experiment):
    options = words.option_words(one.facts["options"])
    parts = [f'<section id="{text(one.name)}"><h2>{text(experiment.title)}'
             + (f' <span class="soft">{text(options)}</span>' if options else "") + "</h2>",
             f'<p class="question">{text(experiment.question)}</p>']
    if experiment.source:
        parts.append(f'<p class="soft">After {text(experiment.source)}.</p>')
    if short := one.shortcomings():
        parts.append(f'<p class="warning">Not a complete result: {text("; ".join(short))}.</p>')
    if older := age.words(one, experiment):
        parts.append(f'<p class="warning">{text(older[0].upper() + older[1:])}.</p>')
    parts.append(f'<p class="soft">{text(noise.summary(one, experiment))} '
                 f"{text(clock.summary(one, experiment))}</p>")
    if wanted := tables.of_goals(experiment, one):
        parts.append(table(wanted))
    for chart in experiment.charts:
        if drawn := plots.draw(chart, one, experiment.units):
            parts.append(f"<figure>{drawn}</figure>")
        shown = tables.of_chart(chart, one, experiment)
        numbers = "".join(map(table, shown))
        parts.append(numbers if sum(len(each.rows) for each in shown) <= ROWS_OPEN_MAX
                     else folded(f"The numbers: {chart.title}", numbers))
    parts += map(table, tables.of_clients(one, experiment))
    everything = table(tables.of_all(one, experiment))
    parts.append(folded("All values: medians, lowest and highest round", everything)
                 if experiment.charts else everything)
    if errors := one.errors():
        said = "".join(f"<li>{text(words.error_words(row))}</li>" for row in errors)
        parts.append(f"<h3>Failed</h3><ul>{said}</ul>")
    if notes := experiment.notes_of(one.facts["options"]):
        parts.append(f'<p class="soft">{text(notes)}</p>')
    return "".join(parts) + origin(one) + "</section>"


def folded(title, content):
    return f"<details><summary>{text(title)}</summary>{content}</details>"


def origin(one):
    facts = one.facts
    versions = "".join(f", {name} {version}" for name, version in facts["versions"].items())
    about = [facts["date"], f"commit {words.commit_words(facts)}",
             words.machine_words(facts["machine"]), words.how_words(facts) + versions,
             f"all values in {one.name}/results.json and .csv"]
    return f'<p class="from"><code>{text(facts["command"])}</code><br>{text(" · ".join(about))}</p>'


def table(each):
    head = "".join(f"<th>{text(name)}</th>" for name in each.header)
    rows = "".join(f"<tr{' class=base' if name == each.to else ''}><td>{text(name)}</td>"
                   f"{''.join(map(entry, entries))}</tr>" for name, *entries in each.rows)
    title = f"<h3>{text(each.title)}</h3>" if each.title else ""
    return (f'{title}<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>'
            "</table></div>")


def entry(one):
    kind = {True: "good", False: "bad", None: ""}[one.good]
    hint = f' title="{text(one.hint)}"' if one.hint else ""
    if one.ratio is None:
        return f'<td class="{kind}"{hint}>{text(one.text)}</td>'
    ratio = (f'<span class="ratio {kind}">{"≈" if one.near else ""}{tables.ratio_words(one.ratio)}'
             "</span>")
    return f"<td{hint}>{text(one.text)}{ratio}</td>"


def text(words_of):
    return html.escape(str(words_of))
