# SPDX-License-Identifier: Apache-2.0
"""bench/tool/docs.py: makes docs/results.md from the complete results in docs/results.

docs/results/NAME.json is a complete results.json. docs/results/NAME.md (the result's narrative) is optional and
written by hand; it explains the result. Its text before the first heading comes before the result's tables, and
its sections come after them. Only those plots are drawn that a narrative shows, as
![Title](results/NAME-plot-TITLE.svg). `./dev bench report --published` shows all plots.
"""

import re

from tool import clock, noise, plots, report, results, tables, words
from tool.experiment import Failed

HEAD = """\
# Results

This page has all published measurements of hatrpc, and values that were computed for
[modelled hosts](model.md). Each section begins with the main point of one run, and has the command that
measured it, its tables, and the conclusions.

* Do not compare absolute numbers of different runs. Compare the set-ups of one run: in each round
  of a run every set-up was measured once, so their ratios are meaningful although the machine is
  not quiet.
* [The glossary](glossary.md) explains the terms, and [hints.md](hints.md) explains hints and plans.
* `./dev bench report --docs` makes this page from the files in [results/](results): the tables from
  the JSON files, and the texts from the Markdown files, which people write.
* `./dev bench report --published` makes a page of the same results with every plot and every value.
* `./dev bench list` names the results that are older than the code that they measure.

## How to read the tables

The tables of all runs use these signs:

* n× is a ratio to the row that the table's title names. The ratio is computed in each round, and
  the table shows the median of the rounds.
* **≈** marks a ratio within the noise floor of the run: one set-up, measured twice as if it were
  two, differs by as much. This measurement is the run's *A/A control*. If a run has no A/A control,
  its section says so. In such a run, only a ratio that is larger than the spread of the rounds is a
  difference.
* The column "spread" (±) has half of the distance between the lowest and the highest round,
  relative to the median, in the column of the table in which this is largest. In plots, thin bars
  reach from the lowest round to the highest.
* **†** marks a latency that Little's law contradicts: clients ÷ calls per second differs by more
  than 10 % from the time of a call plus the time between two calls. Such latencies mostly leave out
  calls that had not ended when the measurement ended. They do not show how long a client waited.
* A table of goals compares a value, or the ratio of two set-ups, with what was wanted.
* The load average before a run is mostly that of the run before it.

## All results

The runs of this page, and the questions that they answer:
"""


def take(found, folder):
    """Copies complete results to docs/results; returns [(name, reason)] of the results that are not complete."""
    refused = []
    for one in found:
        short = one.shortcomings()
        if one.facts["commit"] == "unknown":
            short.append("its commit is not known")
        if short:
            refused.append((one.name, "; ".join(short)))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            results.write(one, folder / f"{one.name}.json")
    return refused


def write(docs, experiment_of):
    """Writes docs/results.md and its plots from all results in docs/results; returns the number of results."""
    kept = published(docs, experiment_of)
    if kept:
        write_plots(kept, docs / "results", experiment_of)
        (docs / "results.md").write_text(text(docs, experiment_of), encoding="utf-8")
    return len(kept)


def published(docs, experiment_of):
    return results.read_all(sorted((docs / "results").glob("*.json")), experiment_of)


def text(docs, experiment_of):
    """Returns the text of docs/results.md."""
    kept = published(docs, experiment_of)
    kinds = report.by_machine(kept)
    lines = [HEAD]
    lines += ["| result | question |", "|---|---|"]
    lines += [f"| [{one.name}](#{anchor(title(one, experiment))}) | {experiment.question} |"
              for one in kept for experiment in [experiment_of(one.facts["experiment"])]]
    for kind, of_kind in kinds.items():
        if len(kinds) > 1:
            lines += ["", f"# On {kind}", "", "Not to be compared with numbers of other machines."]
        for one in of_kind:
            lines.append(part(one, experiment_of(one.facts["experiment"]), docs / "results"))
    return "\n".join(lines).rstrip() + "\n"


def narrative(name, folder):
    file = folder / f"{name}.md"
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def shown_plots(name, folder):
    """Returns the names of the plots that the result's narrative shows."""
    return set(re.findall(r"\]\(results/([^)]+\.svg)\)", narrative(name, folder)))


def write_plots(kept, folder, experiment_of):
    """Draws the plots that narratives show, and deletes all other plots."""
    wanted = set()
    for one in kept:
        experiment = experiment_of(one.facts["experiment"])
        charts = {f"{one.name}-plot-{words.slug(chart.title)}.svg": chart for chart in experiment.charts}
        for file in shown_plots(one.name, folder):
            if file not in charts:
                raise Failed(f"{folder / one.name}.md shows {file}; there are: {', '.join(charts)}")
            drawn = plots.draw(charts[file], one, experiment.units)
            (folder / file).write_text(drawn, encoding="utf-8")
            wanted.add(file)
    for old in folder.glob("*.svg"):
        if old.name not in wanted:
            old.unlink()


def part(one, experiment, folder):
    facts = one.facts
    versions = "".join(f"; {name} {version}" for name, version in facts["versions"].items())
    source = f" The experiment follows {experiment.source}." if experiment.source else ""
    summary, heading, conclusions = narrative(one.name, folder).partition("### ")
    lines = ["", f"## {title(one, experiment)}", "", f"{experiment.question}{source}", ""]
    if summary:
        lines += [summary.rstrip(), ""]
    lines += [f"### The run of {one.name}", "",
             f"`{facts['command']}`", "",
             f"{words.measured_words(facts)} on {facts['date'][:10]} at commit {words.commit_words(facts)}; "
             f"{words.machine_words(facts['machine'])}; {words.how_words(facts)}{versions}; "
             f"[all values](results/{one.name}.json).", ""]
    lines += [f"{noise.summary(one, experiment)} {clock.summary(one, experiment)}", "",
              experiment.notes_of(facts["options"]), "", f"### Tables of {one.name}", ""]
    if wanted := tables.of_goals(experiment, one):
        lines.append(tables.markdown(wanted))
    shown = [table for chart in experiment.charts if chart.in_docs
             for table in tables.of_chart(chart, one, experiment)]
    shown += tables.of_clients(one, experiment)
    lines += map(tables.markdown, shown or [tables.of_all(one, experiment)])
    if errors := one.errors():
        lines += [f"{len(errors)} of {one.expected()} measurements failed:", ""]
        lines += [f"* {said}" for said in map(words.error_words, errors)]
        lines.append("")
    return "\n".join([*lines, heading + conclusions]).rstrip()


def title(one, experiment):
    options = words.option_words(one.facts["options"])
    return experiment.title + (f" ({options})" if options else "")


def anchor(words_of):
    """Returns the anchor that GitHub gives a heading with these words."""
    return re.sub(r"[^\w\- ]", "", words_of.lower()).replace(" ", "-")
