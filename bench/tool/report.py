"""bench/tool/report.py: one HTML page of all results, with plots in it: nothing is fetched."""

import datetime
import html
import sys

from tool import machine, plots, results, tables, words

FILE = "report.html"
STYLE = """
:root { color-scheme: light; --ink: #1a1a1a; --soft: #666; --line: #e2e2e2; --tint: #f6f7f8; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif;
       color: var(--ink); background: #fff; max-width: 1080px; margin: 0 auto; padding: 2rem 1.5rem 4rem; }
h1 { font-size: 1.7rem; margin: 0; }
h2 { font-size: 1.35rem; margin: 0; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p { margin: .4rem 0; max-width: 48rem; }
.soft { color: var(--soft); font-size: .9rem; }
nav { margin: 1.5rem 0 0; border-top: 1px solid var(--line); }
nav a { display: grid; grid-template-columns: 17rem 1fr; gap: 1rem; padding: .45rem .2rem;
        border-bottom: 1px solid var(--line); color: inherit; text-decoration: none; }
nav a:hover { background: var(--tint); }
nav b { color: #0b5cad; font-weight: 600; }
section { margin-top: 3.2rem; padding-top: 1.2rem; border-top: 3px solid var(--ink); }
.question { font-size: 1.08rem; }
.warning { background: #fff4d6; border-left: 4px solid #e6a700; padding: .5rem .8rem; }
figure { margin: 1.2rem 0 .4rem; }
figure svg { max-width: 100%; height: auto; display: block; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
tr.base td { background: var(--tint); }
tr:hover td { background: var(--tint); }
.ratio { display: inline-block; min-width: 3.4em; margin-left: .5em; color: var(--soft); }
.good { color: #0a7a3f; } .bad { color: #b3401f; }
details { margin-top: 1rem; } summary { cursor: pointer; color: #0b5cad; }
code { font: .86em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--tint);
       border-radius: 3px; padding: .1em .35em; }
.from { margin-top: 1.2rem; padding: .6rem .8rem; background: var(--tint); font-size: .86rem; }
.from code { background: none; padding: 0; font-weight: 600; }
@media print { section { break-before: page; } details { display: none; } }
"""


def read_all(folder):
    """The results in a folder's folders, complete ones first; what cannot be read is named."""
    found = []
    for file in sorted(folder.glob(f"*/{results.FILE}")):
        try:
            found.append(results.read(file))
        except (ValueError, KeyError) as error:
            print(f"bench: {file} is left out: {error}", file=sys.stderr)
    return sorted(found, key=lambda one: (one.facts["quick"], one.name))


def write(folder, found, experiment_of):
    """The page, in that folder. `experiment_of` finds an Experiment by its name."""
    file = folder / FILE
    file.write_text(page(found, experiment_of), encoding="utf-8")
    return file


def page(found, experiment_of):
    kinds = by_machine(found)
    parts = []
    for kind, of_kind in kinds.items():
        if len(kinds) > 1:
            parts.append(f"<h2 style='margin-top:3rem'>On {text(kind)}</h2>")
        parts += [section(one, experiment_of(one.facts["experiment"])) for one in of_kind]
    links = "".join(f'<a href="#{text(one.name)}"><b>{text(one.name)}</b><span>'
                    f'{text(experiment_of(one.facts["experiment"]).question)}</span></a>'
                    for of_kind in kinds.values() for one in of_kind)
    apart = (" Numbers of different machines are shown apart, and are not to be compared."
             if len(kinds) > 1 else "")
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>hatrpc: measurements</title>'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
            f'<body><h1>hatrpc: measurements</h1><p class="soft">{text("; ".join(kinds))}. Written '
            f'{datetime.date.today().isoformat()} by <code>./dev bench report</code>.{apart} In plots, thin bars reach from the '
            f'lowest round to the highest. In tables, n× is the median of the rounds’ own ratios '
            f'to the shaded row, in colour where all rounds agree which is better; ± is half of what lies between the lowest and the highest round, in the '
            f'column where that is most.</p><nav>{links}</nav>{"".join(parts)}</body></html>\n')


def by_machine(found):
    kinds = {}
    for one in found:
        kinds.setdefault(machine.kind(one.facts["machine"]), []).append(one)
    return kinds


def section(one, experiment):
    options = " ".join(word for option in one.facts["options"].items() for word in option if word)
    parts = [f'<section id="{text(one.name)}"><h2>{text(experiment.title)}'
             + (f' <span class="soft">{text(options)}</span>' if options else "") + "</h2>",
             f'<p class="question">{text(experiment.question)}</p>']
    if experiment.source:
        parts.append(f'<p class="soft">After {text(experiment.source)}.</p>')
    if short := one.shortcomings():
        parts.append(f'<p class="warning">Not a complete result: {text("; ".join(short))}.</p>')
    if wanted := tables.of_goals(experiment, one):
        parts.append(table(wanted))
    for chart in experiment.charts:
        if drawn := plots.draw(chart, one, experiment.units):
            parts.append(f"<figure>{drawn}</figure>")
        parts += [table(each) for each in tables.of_chart(chart, one, experiment.units)]
    everything = table(tables.of_all(one, experiment.units))
    parts.append(f"<details><summary>All values: medians, lowest and highest round</summary>"
                 f"{everything}</details>" if experiment.charts else everything)
    if errors := one.errors():
        parts.append("<h3>Failed</h3><ul>" + "".join(
            f"<li>{text(row['peer'])}, {text(words.point_words(row['point']))}: {text(row['error'])}</li>"
            for row in errors) + "</ul>")
    if experiment.notes:
        parts.append(f'<p class="soft">{text(experiment.notes)}</p>')
    return "".join(parts) + origin(one) + "</section>"


def origin(one):
    facts = one.facts
    versions = "".join(f", {name} {version}" for name, version in facts["versions"].items())
    return (f'<p class="from"><code>{text(facts["command"])}</code><br>{text(facts["date"])} · commit '
            f'{text(words.commit_words(facts))} · {text(words.machine_words(facts["machine"]))}, load before '
            f'{facts["machine"]["load_before"]} · {text(words.how_words(facts))}{text(versions)} · '
            f'all values in {text(one.name)}/results.json and .csv</p>')


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
        return f'<td{hint} class="{kind}">{text(one.text)}</td>' if kind else f"<td{hint}>{text(one.text)}</td>"
    return f'<td{hint}>{text(one.text)}<span class="ratio {kind}">{tables.ratio_words(one.ratio)}</span></td>'


def text(words_of):
    return html.escape(str(words_of))
