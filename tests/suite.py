#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/suite.py: runs the stages of `./dev test`, and prints a table of their results at the end.

The script ./dev installs the packages that the stages need, and calls this program. A stage that is marked `beside`
mostly waits, so it runs at the same time as the stage before it. A failed build ends the run; after any other failure
the run continues. The exit status is 1 if anything failed.
"""

import argparse
import dataclasses
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path("build")
CORES = len(os.sched_getaffinity(0))
BIN = BUILD / "release/bin"
PEERS = BUILD / "release/e2e"
PRESETS = ("release", "debug", "asan", "tsan")

# The programs that need RDMA devices. They run one after another in one lab (an emulated machine).
LAB = [f"tests/lab/twice.sh {BIN}/{program}" for program in
       ("verbs_test", "verbs_protocols_test", "verbs_rdma_link_test", "verbs_trdma_test", "verbs_dds_test")]
LAB += [f"/usr/bin/python3 tests/lab/{test}.py {BIN} {PEERS}" for test in ("daemons_test", "numa_test", "nic_test")]

# Options of ctest that run each GoogleTest program as one test (cmake/hat.cmake).
PROGRAMS = ["-C", "programs", "-LE", "case"]
# The same, without slow tests: label `e2e` has tests that start daemons, `slow` has other slow tests.
QUICK = ["-C", "programs", "-LE", "case|e2e|slow"]
QUICK_LANGUAGE = ["-R", r"^e2e\.(build\.)?python$"]

SOAK_SECONDS = 600
SOAK_CALLS = 1_000_000  # answered calls of a soak test with hostile clients
DIFFERENTIAL_REQUESTS = 20_000_000  # the check accepts about half of them
READER_REQUESTS = 1_000_000
READERS = ("python", "go", "java", "node", "rust")
LONG_FUZZ_SECONDS = 600
LONG_KILLS = 200
LONG_SEEDS = 10_000

started = time.monotonic()


def say(text):
    print(text, flush=True)


def step(text):
    say(f"\n[{time.monotonic() - started:4.0f}s] {text}")


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    retried: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Counts(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))


class BuildFailed(Exception):
    """A build has failed, so that the stages after it cannot run."""


@dataclasses.dataclass
class Stage:
    name: str
    run: object  # returns Counts
    beside: bool = False
    seconds: float = 0.0
    counts: Counts = dataclasses.field(default_factory=Counts)

    def go(self):
        began = time.monotonic()
        self.counts = Counts(failed=1)  # stays if run() raises an exception
        try:
            self.counts = self.run()
        finally:
            self.seconds = time.monotonic() - began


# --- Kinds of stages ------------------------------------------------------------------------------


def output_of(command, log, **more):
    """Runs a command with its output in the file `log`; returns whether the command succeeded, and its output."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as out:
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False, **more).returncode
    return status == 0, log.read_text(errors="replace")


FAILURE_LINES = 60  # how many lines of each failure are printed again before the table
failures = []  # the name of each check that failed, and the last lines that it printed


def show_end(name, text, lines=60):
    said = text.splitlines()[-lines:]
    failures.append((name, "\n".join(said[-FAILURE_LINES:])))
    say("\n".join(said))


def show_failures_again():
    """Prints the last lines of each failure again, so that they are close to the table at the end of the log."""
    for name, end in failures:
        say(f"\n--- FAILED: {name}\n{end}")


def check(name, *command):
    """Runs a command that counts as one test; returns its Counts."""
    succeeded, text = output_of(command, BUILD / f"{name}.log")
    say(f"{'passed' if succeeded else 'FAILED'}: {name}")
    if not succeeded:
        show_end(name, text)
    return Counts(passed=int(succeeded), failed=int(not succeeded))


def build(preset, *targets):
    def run():
        if subprocess.run(["./dev", "build", preset, *targets], check=False).returncode != 0:
            raise BuildFailed
        return Counts()
    return run


def cases_of(program_xml):
    """Returns the Counts in a GoogleTest program's XML file, or None if there is no such file."""
    if not program_xml.is_file():
        return None
    counts = Counts()
    for case in ET.parse(program_xml).iter("testcase"):
        if case.find("failure") is not None:
            counts.failed += 1
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            counts.skipped += 1
        elif case.get("status") == "run":
            counts.passed += 1
    return counts


def counts_of_ctest(junit, cases):
    """Returns the Counts of a run of ctest. For a program with an XML file in `cases`, its GoogleTest cases count."""
    counts = Counts()
    for test in ET.parse(junit).iter("testcase"):
        own = cases_of(cases / f"{test.get('name')}.xml")
        if test.get("status") == "run":
            counts += own or Counts(passed=1)
        elif test.find("skipped") is not None:
            counts.skipped += 1
        else:  # the program failed; if it crashed, its XML file has no failed case
            counts += own if own and own.failed else Counts(failed=1)
    return counts


def ctest(preset, *selection, jobs=CORES + 1):  # one job more than cores, because many tests mostly wait
    def run():
        folder = BUILD / preset
        junit, cases = (folder / "ctest.xml").resolve(), folder / "gtest"
        junit.unlink(missing_ok=True)
        shutil.rmtree(cases, ignore_errors=True)
        command = ["ctest", "--test-dir", folder, "--output-on-failure", "-j", str(jobs), "--no-tests=error",
                   "--output-junit", junit, *selection]
        _, text = output_of(command, folder / "ctest.log")
        uninteresting = re.compile(r"^ *(Start |Test project|\d+/\d+ Test .* Passed)")
        summary = re.compile(r"tests? passed, \d+ tests? failed|^Total Test time")
        lines = [line for line in text.splitlines() if not uninteresting.match(line)]
        failing = any(re.search(r"\*\*\*(?!Skipped)", line) for line in lines)
        if failing:
            show_end(preset, "\n".join(lines), len(lines))
        else:
            say("\n".join(line for line in lines if summary.search(line) or "Skipped" in line))
        if not junit.is_file():
            say(f"suite: ctest ran no test of preset {preset}: {folder}/ctest.log says why")
            return Counts(failed=1)
        return counts_of_ctest(junit, cases)
    return run


def lab(*command):
    """Returns a stage's function that runs programs in the lab. The programs print their cases as GoogleTest does."""
    def run():
        words = list(command) or " && ".join(LAB).split()
        succeeded, text = output_of(["/usr/bin/python3", "tests/lab/lab.py", *words], BUILD / "lab.log")
        counts = Counts(passed=len(re.findall(r"(?m)^\[ +OK \]", text)),
                        failed=len(re.findall(r"(?m)^\[  FAILED  \].*ms\)$", text)),
                        retried=len(re.findall(r"(?m)^\[ ONCE MORE \].*ms\)$", text)))
        say("\n".join(re.findall(r"(?m)^(?:fabric: |\[=+\] .* ran|\[ ONCE MORE \].*ms\)|  \| ).*$", text)))
        if not succeeded or counts.passed == 0:
            show_end("lab", text)
            counts.failed = max(counts.failed, 1)
        return counts
    return run


def package(option):
    return lambda: check("package", "./dev", "package", option)


def fuzz_one(target, *options):
    log = BUILD / f"fuzz/{target}.log"
    succeeded, text = output_of(
        [BUILD / "fuzz/bin" / target, "-timeout=10", "-rss_limit_mb=2048",
         f"-artifact_prefix={BUILD}/fuzz/{target}-", *options, f"tests/fuzz/corpus/{target}"], log)
    runs = re.search(r"Done (\d+) runs", text)
    if succeeded and runs:
        say(f"passed: {target}: {runs[1]} runs")
        return Counts(passed=1)
    say(f"FAILED: {target}: {log} has the name of the input that it found")
    show_end(target, text, 30)
    return Counts(failed=1)


def search(target, seconds):
    corpus = BUILD / "fuzz/corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    return fuzz_one(target, f"-max_total_time={seconds}", corpus)


def replay(target):
    return fuzz_one(target, "-runs=0")


def fuzz(one, *arguments):
    def run():
        targets = sorted(path.name for path in (BUILD / "fuzz/bin").glob("*_fuzz"))
        with multiprocessing.Pool(CORES) as pool:
            return sum(pool.starmap(one, [(target, *arguments) for target in targets], 1), Counts())
    return run


def source_files():
    return subprocess.run(["git", "ls-files", "*.cc", "*.h"], check=True, capture_output=True,
                          text=True).stdout.split()


def house_rules():
    counts = check("format", "clang-format-16", "--dry-run", "-Werror", *source_files())
    for name in ("rooms", "tidy", "classes", "links", "prose", "workflow"):
        counts += check(name, "/usr/bin/python3", f"tests/{name}.py")
    return counts


def clang_tidy():
    return check("clang-tidy", "/usr/bin/python3", "tests/clang_tidy.py", "-j", str(CORES))


def soak(*kind):
    until = f"{SOAK_CALLS}calls" if "hostile" in kind else str(SOAK_SECONDS)
    return lambda: check("-".join(("soak", *kind)), "/usr/bin/python3", "tests/e2e/soak.py", BIN, PEERS, *kind, until)


def differential():
    """Checks that Thrift's generated code of each language reads the requests that hatrpcd's check accepts."""
    counts = check("differential", BIN / "request_check_differential", str(DIFFERENTIAL_REQUESTS))
    for language in READERS:
        counts += check(f"reader-{language}", "/usr/bin/python3", "tests/e2e/readers.py", "--bin", BIN, "--peers", PEERS,
                        "--count", str(READER_REQUESTS), language)
    return counts


def kills():
    return check("kills", "/usr/bin/python3", "kv/kill_test.py", BIN / "hatkv",
                 BUILD / "release/kv/stubs/python", "--kills", str(LONG_KILLS))


def seeds():
    return check("seeds", BIN / "sim_test", "--from", "1001", "--seeds", str(LONG_SEEDS))


# --- The stages of each command -------------------------------------------------------------------


def release_stages():
    return [Stage("house rules", house_rules),
            Stage("build release", build("release")),
            Stage("release", ctest("release", *PROGRAMS))]


def full_stages():
    return [*release_stages(),
            Stage("lab", lab()),  # emulation uses all processor time, so no other stage runs beside it
            Stage("build asan", build("asan")),
            Stage("package", package("--test"), beside=True),
            Stage("asan", ctest("asan")),
            Stage("build tsan", build("tsan")),
            Stage("tsan", ctest("tsan")),
            Stage("build fuzz", build("fuzz", "fuzzers")),
            Stage("seeds of fuzzers", fuzz(replay))]  # no search for new inputs, because its result is random


def quick_stages():
    return [Stage("house rules", house_rules),
            Stage("build release", build("release")),
            Stage("unit, simulation", ctest("release", *QUICK)),
            Stage("python end to end", ctest("release", *QUICK_LANGUAGE))]


def long_stages():
    return [*full_stages(), Stage("fuzz", fuzz(search, LONG_FUZZ_SECONDS)), Stage("clang-tidy", clang_tidy),
            Stage("package, optimized", package("--test-optimized")), Stage("soak, TCP", soak()),
            Stage("soak, rings", soak("rings")), Stage("soak, hostile clients", soak("hostile")),
            Stage("soak, shared upstream, hostile clients", soak("shared", "hostile")),
            Stage("differential", differential),
            Stage("kills of HatKV", kills), Stage("seeds", seeds)]


def burn():
    while True:
        pass


def busy(run):
    """Returns a stage's function that calls `run` while one process per core keeps the core busy."""
    def run_busy():
        burners = [multiprocessing.Process(target=burn, daemon=True) for _ in range(CORES)]
        for burner in burners:
            burner.start()
        try:
            return run()
        finally:
            for burner in burners:
                burner.kill()
    return run_busy


def some_stages(options):
    selection = ["-R", options.filter] if options.filter else []
    if options.repeat > 1:
        selection += ["--repeat", f"until-fail:{options.repeat}"]
    stages = [Stage("build release", build("release"))]  # tests of other presets use the test clients of this build
    preset = options.preset or "release"
    if preset != "release":
        stages.append(Stage(f"build {preset}", build(preset)))
    run = ctest(preset, *selection)
    return [*stages, Stage(preset, busy(run) if options.busy else run)]


def lint_stages():
    return [Stage("house rules", house_rules), Stage("clang-tidy", clang_tidy)]


def print_table(stages):
    total = sum((stage.counts for stage in stages), Counts())
    say(f"\n{'stage':<20} {'seconds':>8} {'passed':>8} {'failed':>8} {'retried':>8} {'skipped':>8}")
    rows = [(stage.name, stage.seconds, stage.counts) for stage in stages if stage.seconds]
    for name, seconds, counts in [*rows, ("all", time.monotonic() - started, total)]:
        say(f"{name:<20} {seconds:8.0f} {counts.passed:8} {counts.failed:8} {counts.retried:8} {counts.skipped:8}")
    say(f"\n{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return total


def run_stages(stages):
    """Runs the stages in order; returns the exit status."""
    thread = None
    try:
        for stage, following in zip(stages, [*stages[1:], None]):
            if stage.beside:
                continue  # this stage was started together with the stage before it
            if following and following.beside:
                thread = threading.Thread(target=following.go)
                thread.start()
            step(stage.name + (f"; beside it: {following.name}" if thread else ""))
            stage.go()
            if thread:
                thread.join()
                thread = None
    except BuildFailed:
        say("suite: a build failed; the stages after it were not run")
    finally:
        if thread:
            thread.join()
    show_failures_again()
    total = print_table(stages)
    return 1 if total.failed or not total.passed else 0


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.exit(f"dev: {message}; ./dev help lists the commands and their options")


def read_options():
    parser = Parser(add_help=False)
    commands = parser.add_subparsers(dest="command", required=True)
    test = commands.add_parser("test", add_help=False)
    test.add_argument("--quick", action="store_true")
    test.add_argument("--full", action="store_true")
    test.add_argument("--long", action="store_true")
    test.add_argument("--preset", choices=PRESETS)
    test.add_argument("--filter", default="")
    test.add_argument("--repeat", type=int, default=1)
    test.add_argument("--busy", action="store_true")
    test.add_argument("--check", action="store_true", help="reads the options, and runs nothing")
    commands.add_parser("lint", add_help=False)
    commands.add_parser("lab", add_help=False).add_argument("program", nargs=argparse.REMAINDER)
    commands.add_parser("fuzz", add_help=False).add_argument("seconds", type=int, nargs="?", default=60)
    options = parser.parse_args()
    if options.command == "test":
        some = bool(options.preset or options.filter or options.repeat > 1 or options.busy)
        if options.quick + options.full + options.long + some > 1:
            test.error("--quick, --full and --long exclude each other and every selection of tests")
        if options.repeat < 1:
            test.error("--repeat takes a number from 1 on")
    return options


def stages_of(options):
    if options.command == "lint":
        return lint_stages()
    if options.command == "lab":
        return [Stage("build release", build("release")), Stage("lab", lab(*options.program))]
    if options.command == "fuzz":
        return [Stage("build fuzz", build("fuzz", "fuzzers")), Stage("fuzz", fuzz(search, options.seconds))]
    if options.quick:
        return quick_stages()
    if options.full:
        return full_stages()
    if options.long:
        return long_stages()
    if options.preset or options.filter or options.repeat > 1 or options.busy:
        return some_stages(options)
    return release_stages()


def main():
    os.chdir(ROOT)
    options = read_options()
    if getattr(options, "check", False):
        return 0
    return run_stages(stages_of(options))


if __name__ == "__main__":
    sys.exit(main())
