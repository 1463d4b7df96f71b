# SPDX-License-Identifier: Apache-2.0
"""bench/tool: `./dev bench`: lists, runs and reports experiments."""

import argparse
import pathlib
import signal
import sys

from tool import age, clock, experiment, options, quiet, results, runner, tables

HELP = """\
usage: ./dev bench COMMAND

  list                          lists the experiments, the question that each answers, and the
                                published results that are older than the code that they measure
  run NAME... [OPTION...]       runs experiments (all: every one); results are in build/bench/NAME/
  run NAME --help               shows what the experiment compares, and its options
  report [NAME...]              writes build/bench/report.html from the results in build/bench
  report [NAME...] --docs       also writes docs/results.md and its plots, from complete results
  report --published            writes build/bench/published.html from the results in docs/results

Options of every run:
  --quick                       measure few points, in one round of 0.2 s, to see that all works
  --seconds S, --rounds N       length of a measurement, and number of rounds
  --peer NAME                   measure only this set-up (may be given again)
  --busy-anyway                 measure although other processes use this machine
  --plan                        print what would be measured and for how long; measure nothing

Each set-up (peer) has a turn in every round. The first has two turns: the difference between these
two is the run's noise floor. A run refuses to start while other processes take more than a fifth of
a core, except with --quick or --busy-anyway. Ctrl-C ends a run early; the run keeps what it has
measured.

Examples:
  ./dev bench run echo --quick && ./dev bench report
  ./dev bench run echo --local shm --rounds 9
  ./dev bench run engine-latency engine-throughput
"""


def list_command(words):
    if words:
        return usage(f"list takes no arguments, but got {words[0]!r}")
    found = [experiment.load(name) for name in experiment.names()]
    width = max(len(one.name) for one in found)
    for one in found:
        print(f"{one.name:{width}}  {one.question}" + (f"  [{one.source}]" if one.source else ""))
    for name, words in ages(results.read_all(published_files(), experiment.load)):
        print(f"published: {name} is {words}")
    return 0


def published_files(folder=None):
    return sorted((folder or options.PUBLISHED).glob("*.json"))


def ages(found):
    """Returns [(name, words)] for the results that are older than the code that they measure."""
    return [(one.name, words) for one in found
            if (words := age.words(one, experiment.load(one.facts["experiment"])))]


def run_command(words):
    names, words = options.split_names(words)
    if not names and words != ["--help"]:
        return usage("run: name an experiment first, as in `./dev bench run echo --quick`")
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
        if not may_measure(one, settings, progress):
            failed = True
            continue
        try:
            found = runner.run(one, settings, progress)
        except experiment.Failed as failure:
            progress.say(f"bench: {one.name}: {failure}")
            failed = True
            continue
        progress.end()
        for chart in one.charts:
            for table in tables.of_chart(chart, found, one):
                print(tables.text(table))
        if not one.charts and found.rows:
            print(tables.text(tables.of_all(found, one)))
        for table in tables.of_clients(found, one):
            print(tables.text(table))
        print(clock.summary(found, one))
        errors = len(found.errors())
        failed |= errors > 0
        print(f"{len(found.rows) - errors} of {found.expected()} measured, {errors} failed: "
              f"{settings.out}/results.json")
        if len(found.rows) < found.expected():
            return 130
    return 1 if failed else 0


def may_measure(one, settings, progress):
    """Returns True if the machine is idle, or an option allows to measure on a busy machine. Sets settings.busy."""
    settings.busy = None
    if settings.quick or one.model(settings):
        return True
    sample = quiet.sample()
    if not sample.is_busy():
        return True
    settings.busy = sample.words()
    if settings.busy_anyway:
        progress.say(f"bench: {settings.name}: this machine is busy: {settings.busy}")
        return True
    progress.say(f"bench: {settings.name} is not measured, because this machine is busy: "
                 f"{settings.busy}. Stop these processes or wait for their end; --busy-anyway measures "
                 "all the same, and the result says so")
    return False


def report_command(words):
    parser = argparse.ArgumentParser(prog="./dev bench report", description=(
        "Writes one self-contained HTML page with all results in build/bench."))
    parser.add_argument("name", nargs="*", help="names of results (of their folders); default: all")
    parser.add_argument("--docs", action="store_true",
                        help="also write docs/results.md and its plots, from the complete results")
    parser.add_argument("--published", action="store_true",
                        help="write published.html, from the results in docs/results, instead")
    parser.add_argument("--out", type=pathlib.Path, default=options.OUT,
                        help="folder of the results (default: %(default)s)")
    parser.add_argument("--docs-folder", type=pathlib.Path, default=pathlib.Path("docs"),
                        help="default: %(default)s")
    wanted = parser.parse_args(words)
    from tool import report  # imports matplotlib, which a measurement does not need

    if wanted.published:
        files, file = published_files(wanted.docs_folder / "results"), report.PUBLISHED_FILE
    else:
        files, file = sorted(wanted.out.glob("*/results.json")), report.FILE
    found = results.read_all(files, experiment.load)
    found.sort(key=lambda one: one.facts["quick"])
    if unknown := set(wanted.name) - {one.name for one in found}:
        return usage(f"there is no result {', '.join(sorted(unknown))} in {wanted.out}")
    found = [one for one in found if not wanted.name or one.name in wanted.name]
    for name, said in ages(found):
        print(f"bench: {name} is {said}", file=sys.stderr)
    if found:
        print(f"written: {report.write(wanted.out / file, found, experiment.load)}")
    elif not wanted.docs:
        return usage(f"there are no results in {wanted.out}; `./dev bench run echo --quick` makes "
                     "a first one")
    return update_docs([] if wanted.published else found, wanted.docs_folder) if wanted.docs else 0


def update_docs(found, folder):
    from tool import docs

    refused = docs.take(found, folder / "results")
    for name, why in refused:
        print(f"bench: {name} is not taken into the documents: {why}", file=sys.stderr)
    try:
        count = docs.write(folder, experiment.load)
    except experiment.Failed as failure:
        print(f"bench: {folder}/results.md is not written: {failure}", file=sys.stderr)
        return 1
    if count:
        print(f"written: {folder}/results.md, of {count} results")
    return 1 if refused else 0


def usage(what):
    print(f"bench: {what}\n`./dev bench --help` lists commands and options", file=sys.stderr)
    return 2


COMMANDS = {"list": list_command, "run": run_command, "report": report_command}


def main(words):
    if not words or words[0] in ("-h", "--help", "help"):
        print(HELP, end="")
        return 0
    if words[0] not in COMMANDS:
        return usage(f"{words[0]!r} is not a command")
    return COMMANDS[words[0]](words[1:])


if __name__ == "__main__":
    # Make each of these signals raise KeyboardInterrupt, so that a run keeps its results and ends its processes.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
