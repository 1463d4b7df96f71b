#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/workflow.py: checks the workflows of hosted CI with actionlint and with rules of this project.

The rules: each action is pinned to a commit, and a comment names its release; each job has a timeout; a workflow has
only the permission to read unless a job asks for more; each `./dev COMMAND` in a workflow exists.

Prints `file:line: message` for each breach; the exit status is 1 if there is one. `--self-test` checks that this
program finds breaches. Needs Go, which downloads actionlint once; tests/workflow/go.sum pins actionlint's version.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import checker
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint"

USES = re.compile(r"^\s*(?:- )?uses: *(\S+)(.*)$")
PINNED = re.compile(r"^[\w.-]+/[\w./-]+@[0-9a-f]{40}$")
RELEASE = re.compile(r"^  # v\d+\.\d+\.\d+$")
DEV = re.compile(r"\./dev (\w+)")
COMMAND_IN_HELP = re.compile(r"^  (\w+)(?: \| (\w+))?", re.MULTILINE)


def dev_commands():
    done = subprocess.run([ROOT / "dev", "help"], stdout=subprocess.PIPE, text=True, check=True)
    return {name for names in COMMAND_IN_HELP.findall(done.stdout) for name in names if name}


def house_rules(text, commands):
    """Yields (line, message) for each breach of this project's rules."""
    workflow = yaml.safe_load(text)
    if workflow.get("permissions") != {"contents": "read"}:
        yield 1, "`permissions: {contents: read}` is missing at the top; a job that needs more asks for itself"
    for name, job in workflow["jobs"].items():
        if "timeout-minutes" not in job:
            yield 1, f"job {name}: `timeout-minutes` is missing; the default is six hours"
    for number, line in enumerate(text.splitlines(), 1):
        uses = USES.match(line)
        if uses and not uses[1].startswith("./"):
            if not PINNED.match(uses[1]):
                yield number, f"{uses[1]}: pin it to a commit of 40 hexadecimal digits; a tag can be moved"
            elif not RELEASE.match(uses[2]):
                yield number, f"{uses[1]}: a comment has to name the release, as in `  # v1.2.3`"
        for command in DEV.findall(line):
            if command not in commands:
                yield number, f"./dev {command}: no such command; ./dev help lists them"


def actionlint(paths):
    """Runs actionlint; returns its output, a list of lines `file:line:column: message`."""
    if shutil.which("go") is None:
        sys.exit("workflow: actionlint needs `go`, which is not installed; run ./dev setup")
    done = subprocess.run(
        ["go", "run", ACTIONLINT, "-no-color", "-oneline", "-shellcheck=", "-pyflakes=", *map(str, paths)],
        cwd=ROOT / "tests/workflow", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0 and not done.stdout:
        sys.exit(f"workflow: actionlint did not run: {done.stderr.strip()}")
    return done.stdout.splitlines()


def check_tree():
    paths = sorted((ROOT / ".github/workflows").glob("*.y*ml"))
    commands = dev_commands()
    for path in paths:
        for number, what in house_rules(path.read_text(encoding="utf-8"), commands):
            yield f"{path.relative_to(ROOT)}:{number}: {what}"
    yield from actionlint(paths)


GOOD = """on: push
permissions:
  contents: read
jobs:
  a:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1  # v7.0.1
      - run: ./dev test
"""
BREAKS_HOUSE_RULES = {
    "a tag": GOOD.replace("3d3c42e5aac5ba805825da76410c181273ba90b1", "v7"),
    "no release": GOOD.replace("  # v7.0.1", ""),
    "no timeout": GOOD.replace("    timeout-minutes: 5\n", ""),
    "no permissions": GOOD.replace("permissions:\n  contents: read\n", ""),
    "permissions to write": GOOD.replace("contents: read", "contents: write"),
    "an unknown command of dev": GOOD.replace("./dev test", "./dev tset"),
}
BREAKS_ACTIONLINT = {
    "an unknown key": GOOD.replace("timeout-minutes", "timeout-minuets"),
    "an unknown context": GOOD.replace("./dev test", "echo ${{ gihtub.ref }}"),
    "a needed job that is not there": GOOD.replace("    steps:", "    needs: b\n    steps:"),
    "text of a stranger in a script": GOOD.replace(
        "./dev test", "echo ${{ github.event.pull_request.title }}"),
}


def self_test():
    wrong = [f"got past: {name}" for name, text in BREAKS_HOUSE_RULES.items()
             if not list(house_rules(text, {"test"}))]
    wrong += [f"refused: {what}" for _, what in house_rules(GOOD, {"test"})]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in BREAKS_ACTIONLINT.items():
            path = pathlib.Path(folder) / (name.replace(" ", "_") + ".yml")
            path.write_text(text, encoding="utf-8")
        found = "\n".join(actionlint(pathlib.Path(folder).glob("*.yml")))
        wrong += [f"got past: {name}" for name in BREAKS_ACTIONLINT if name.replace(" ", "_") not in found]
    return wrong


if __name__ == "__main__":
    checker.run("workflow", self_test, check_tree, "every workflow follows the rules")
