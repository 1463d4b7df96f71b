"""bench/tool: `./dev bench`: lists, runs and reports experiments."""

import argparse
import pathlib
import signal
import sys

from tool import experiment, options, runner, tables

HELP = """\
usage: ./dev bench COMMAND

  list                          the experiments, and what each answers
  run NAME... [OPTION...]       measures (all: every one); results in build/bench/NAME/
  run NAME --help               what the experiment compares, and its options
  report [NAME...]              build/bench/report.html, of the results that are there
  report [NAME...] --docs       docs/results.md and its plots as well, of the complete ones

Options of every run:
  --quick                       few points, one round of 0.2 s: whether all of it works
  --seconds S, --rounds N       how long
  --peer NAME                   these alone (may be given again)
  --plan                        say what would be measured and for how long, and measure nothing

Every peer has its turn in every round. Ctrl-C ends a run early and keeps what was measured.

Examples:
  ./dev bench run echo --quick && ./dev bench report
  ./dev bench run echo --local shm --rounds 9
  ./dev bench run engine-latency engine-throughput
"""


def list_command(words):
    if words:
        return usage(f"list takes nothing, and got {words[0]!r}")
    found = [experiment.load(name) for name in experiment.names()]
    width = max(len(one.name) for one in found)
    for one in found:
        print(f"{one.name:{width}}  {one.question}" + (f"  [{one.source}]" if one.source else ""))
    return 0


def run_command(words):
    names, words = options.split_names(words)
    if not names and words != ["--help"]:
        return usage("run: say which experiment first, as in `./dev bench run echo --quick`")
    try:
        found = options.chosen(names)
    except KeyError as unknown:
        return usage(f"there is no experiment {unknown}; there are: "
                     f"{', '.join(experiment.names())}")
    if not found:
        print(HELP, end="")
        return 0
    every = [(one, options.settings_of(one, words)) for one in found]
    if every[0][1].plan:
        for one, settings in every:
            print(runner.plan_words(one, settings))
        return 0
    failed = False
    progress = runner.Progress()
    for one, settings in every:
        try:
            results = runner.run(one, settings, progress)
        except experiment.Failed as failure:
            progress.say(f"bench: {one.name}: {failure}")
            failed = True
            continue
        progress.end()
        for chart in one.charts:
            for table in tables.of_chart(chart, results, one.units):
                print(tables.text(table))
        if not one.charts and results.rows:
            print(tables.text(tables.of_all(results, one.units)))
        errors = len(results.errors())
        failed |= errors > 0
        print(f"{len(results.rows) - errors} of {results.expected()} measured, {errors} failed: "
              f"{settings.out}/results.json")
        if len(results.rows) < results.expected():
            return 130
    return 1 if failed else 0


def report_command(words):
    parser = argparse.ArgumentParser(prog="./dev bench report", description=(
        "Writes one HTML page of all results in build/bench, to send to others."))
    parser.add_argument("name", nargs="*", help="results, as their folders are called; default: all")
    parser.add_argument("--docs", action="store_true",
                        help="docs/results.md and its plots as well, of the complete results")
    parser.add_argument("--out", type=pathlib.Path, default=options.OUT,
                        help="folder of the results (default: %(default)s)")
    parser.add_argument("--docs-folder", type=pathlib.Path, default=pathlib.Path("docs"),
                        help="default: %(default)s")
    wanted = parser.parse_args(words)
    from tool import docs, report  # with matplotlib, which measuring does without

    files = sorted(wanted.out.glob("*/results.json"))
    found = report.read_all(files, experiment.load)
    found.sort(key=lambda one: one.facts["quick"])
    if unknown := set(wanted.name) - {one.name for one in found}:
        return usage(f"there is no result {', '.join(sorted(unknown))} in {wanted.out}")
    found = [one for one in found if not wanted.name or one.name in wanted.name]
    if found:
        print(f"written: {report.write(wanted.out, found, experiment.load)}")
    elif not wanted.docs:
        return usage(f"there are no results in {wanted.out}; `./dev bench run echo --quick` makes "
                     "some")
    if not wanted.docs:
        return 0
    refused = docs.take(found, wanted.docs_folder / "results")
    for name, why in refused:
        print(f"bench: {name} is not taken into the documents: {why}", file=sys.stderr)
    count = docs.write(wanted.docs_folder, experiment.load)
    if count:
        print(f"written: {wanted.docs_folder}/results.md, of {count} results")
    return 1 if refused else 0


def usage(what):
    print(f"bench: {what}\n`./dev bench --help` tells more", file=sys.stderr)
    return 2


COMMANDS = {"list": list_command, "run": run_command, "report": report_command}


def main(words):
    if not words or words[0] in ("-h", "--help", "help"):
        print(HELP, end="")
        return 0
    if words[0] not in COMMANDS:
        return usage(f"{words[0]!r} is no command")
    return COMMANDS[words[0]](words[1:])


if __name__ == "__main__":
    # Whatever ends it, what was measured is kept, and no process stays.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
