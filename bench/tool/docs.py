"""bench/tool/docs.py: docs/results.md, made from the complete results, which are kept beside it.

docs/results/NAME.json is a results.json that was complete; docs/results/NAME.md, where there is
one, is written by hand and says what is seen and why; docs/results/NAME-plot-*.svg are drawn anew
each time.
"""

import re

from tool import plots, report, results, tables, words

HEAD = """\
# Results

Made by `./dev bench report --docs` from the files in [results/](results); what is said between
plots and tables is written by hand. Each part begins with the command that measured it. Every peer
had its turn in every round of that one run, so that ratios mean something on a machine that is not
quiet. In plots, thin bars reach from the lowest round to the highest. In tables, n× is the median
of the rounds' own ratios, ± is half of what lies between the lowest and the highest round, in the
column where that is most. A load average before a run is mostly that of the run before it.
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
    """docs/results.md and its plots, of all results that docs/results has; returns how many."""
    folder = docs / "results"
    kept = report.read_all(sorted(folder.glob("*.json")), experiment_of)
    if not kept:
        return 0
    for old in folder.glob("*-plot-*.svg"):
        old.unlink()
    kinds = report.by_machine(kept)
    lines = [HEAD]
    lines += ["| result | what it answers |", "|---|---|"]
    lines += [f"| [{one.name}](#{anchor(title(one, experiment))}) | {experiment.question} |"
              for one in kept for experiment in [experiment_of(one.facts["experiment"])]]
    for kind, of_kind in kinds.items():
        if len(kinds) > 1:
            lines += ["", f"# On {kind}", "", "Not to be compared with numbers of other machines."]
        for one in of_kind:
            lines.append(part(one, experiment_of(one.facts["experiment"]), folder))
    (docs / "results.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return len(kept)


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
    for chart in experiment.charts:
        if drawn := plots.draw(chart, one, experiment.units):
            file = f"{one.name}-plot-{slug(chart.title)}.svg"
            (folder / file).write_text(drawn, encoding="utf-8")
            lines += [f"![{chart.title}](results/{file})", ""]
    if (said := folder / f"{one.name}.md").exists():
        lines += [said.read_text(encoding="utf-8").strip(), ""]
    if wanted := tables.of_goals(experiment, one):
        lines.append(tables.markdown(wanted))
    shown = [table for chart in experiment.charts
             for table in tables.of_chart(chart, one, experiment.units)]
    lines += map(tables.markdown, shown or [tables.of_all(one, experiment.units)])
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
