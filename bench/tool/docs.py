# SPDX-License-Identifier: Apache-2.0
"""bench/tool/docs.py: docs/results.md, made from the complete results, which are kept beside it.

docs/results/NAME.json is a results.json that was complete; docs/results/NAME.md, where there is
one, is written by hand and says what is seen and why. A plot that it shows, as
![Title](results/NAME-plot-TITLE.svg), is drawn beside it; `./dev bench report --published` has all.
"""

import re

from tool import clock, noise, plots, report, results, tables, words
from tool.experiment import Failed

HEAD = """\
# Results

Made by `./dev bench report --docs` from the files in [results/](results); what is said before the
tables is written by hand. Each part begins with the command that measured it. Every peer had its
turn in every round of that one run, so that ratios mean something on a machine that is not quiet.
`./dev bench report --published` makes a page of the same results with every plot and every value,
and `./dev bench list` says which of them are older than the code that they measure.

* n× is the median of the rounds' own ratios. **≈** marks a ratio that is within the run's noise
  floor: one peer measured as two differs by as much. A run without such a control says so; no ratio
  in it tells more than the spread of its rounds.
* ± is half of what lies between the lowest and the highest round, of the median, in the column where
  that is most. In plots, thin bars reach from the lowest round to the highest.
* **†** marks a latency that Little's law contradicts: clients ÷ calls per second is not what a call
  and the time between two calls take, to within 10 %. Such latencies mostly leave out calls that had
  not ended when the measurement did: they are those of the calls that were quick enough, and say
  nothing of how long a client waited.
* A load average before a run is mostly that of the run before it.
"""


def take(found, folder):
    """Copies complete results into docs/results; returns [(name, why not)] of the others."""
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
    """docs/results.md and the plots that it shows, of all results in docs/results; returns how many."""
    kept = published(docs, experiment_of)
    if kept:
        write_plots(kept, docs / "results", experiment_of)
        (docs / "results.md").write_text(text(docs, experiment_of), encoding="utf-8")
    return len(kept)


def published(docs, experiment_of):
    return results.read_all(sorted((docs / "results").glob("*.json")), experiment_of)


def text(docs, experiment_of):
    """docs/results.md."""
    kept = published(docs, experiment_of)
    kinds = report.by_machine(kept)
    lines = [HEAD]
    lines += ["| result | what it answers |", "|---|---|"]
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
    """Files that the result's narrative shows."""
    return set(re.findall(r"\]\(results/([^)]+\.svg)\)", narrative(name, folder)))


def write_plots(kept, folder, experiment_of):
    """Draws the plots that narratives show, and deletes those that none does."""
    wanted = set()
    for one in kept:
        experiment = experiment_of(one.facts["experiment"])
        charts = {f"{one.name}-plot-{slug(chart.title)}.svg": chart for chart in experiment.charts}
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
    source = f" After {experiment.source}." if experiment.source else ""
    lines = ["", f"## {title(one, experiment)}", "", f"{experiment.question}{source}", "",
             f"`{facts['command']}`", "",
             f"{facts['date'][:10]}, commit {words.commit_words(facts)}; "
             f"{words.machine_words(facts['machine'])}, load average before "
             f"{facts['machine']['load_before']}; {words.how_words(facts)}{versions}; "
             f"[all values](results/{one.name}.json).", ""]
    if said := narrative(one.name, folder):
        lines += [said, ""]
    lines += [f"{noise.summary(one, experiment)} {clock.summary(one, experiment)}", ""]
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
    return "\n".join([*lines, experiment.notes]).rstrip()


def title(one, experiment):
    options = words.option_words(one.facts["options"])
    return experiment.title + (f" ({options})" if options else "")


def slug(words_of):
    return re.sub(r"[^a-z0-9]+", "-", words_of.lower()).strip("-")


def anchor(words_of):
    """As GitHub makes it of a heading."""
    return re.sub(r"[^\w\- ]", "", words_of.lower()).replace(" ", "-")
