#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/links.py: checks that every link in a Markdown file leads to an existing file and heading.

Prints `file:line: message` for each broken link; the exit status is 1 if there is one. The program also checks:
 - each name of a page, such as "docs/x.md", in code, YAML and the manual pages, with the heading that follows the name
   in quotes or brackets: docs/x.md ("A heading");
 - each name of a test in a table whose last column is headed "test".
It does not follow external links (https:). `--self-test` checks that this program finds broken links.
"""

import functools
import pathlib
import re
import subprocess

import checker

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*```")
HEADING = re.compile(r"^#{1,6} +(.*?)#*$")
# Matches the name of a page of this repository in any text, and the heading in quotes or brackets after the name.
NAMED = re.compile(r"(?<![\w./-])((?:docs|deploy/\w+)/[\w-]+\.md)(?:,? ?(?:\(\\?\"?|\\?\")([^\"()\\]+)\\?[\")])?")
SELF_TESTS = ("tests/links.py",)
# Folders with parts of a page, and the page that `./dev bench report` makes from the parts.
WHOLE = {"docs/results": "docs/results.md"}
TEXT = (".cc", ".h", ".py", ".md", ".yaml", ".json", ".txt", ".cmake", ".service", ".thrift", ".html", ".1", ".3",
        ".5", ".7", ".8")


def slug(heading):
    """Returns the anchor that GitHub gives a heading: in lower case, with dashes, and with the text of links."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def outside_fences(text):
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def headings(text):
    return [found.group(1).strip() for _, line in outside_fences(text) if (found := HEADING.match(line))]


def anchors(text):
    """Returns the anchors of a page. The second heading with the same text gets the suffix -1, the third -2."""
    seen, found = {}, set()
    for heading in headings(text):
        name = slug(heading)
        found.add(f"{name}-{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return found


@functools.lru_cache(maxsize=None)
def page(path):
    return path.read_text(encoding="utf-8")


def check_page(path, text, root=ROOT):
    """Checks the links of one page; `path` is relative to `root`."""
    path = pathlib.PurePosixPath(path)
    whole = root / WHOLE.get(str(path.parent), path)
    for number, line in outside_fences(text):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = whole.parent / name if name else whole
            if not file.exists() and name:
                yield f"{path}:{number}: {name} does not exist"
            elif anchor and file.suffix == ".md" and anchor not in anchors(page(file) if file.exists() else text):
                yield f"{path}:{number}: {name or path} has no heading #{anchor}"


def check_names(path, text, root=ROOT):
    """Checks the pages that a file names, and their headings, which may be broken over lines."""
    for found in NAMED.finditer(re.sub(r"\s*\n[\s#/]*", " ", text)):
        name, heading = found.groups()
        if not (root / name).exists():
            yield f"{path}: names {name}, which does not exist"
        elif heading and heading[0].isupper() and heading not in headings(page(root / name)):
            yield f"{path}: {name} has no heading “{heading}”"


@functools.lru_cache(maxsize=None)
def tests_of_the_tree():
    """Returns the names of the tests: Suite, Test, Suite.Test, and fuzz targets."""
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cc", "*.py"], cwd=ROOT,
                           text=True, capture_output=True, check=True).stdout.split()
    found = set()
    for file in files:
        path = ROOT / file
        found.add(path.stem)
        if not path.is_file():
            continue
        for suite, test in re.findall(r"^\s*TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", page(path), re.MULTILINE):
            found |= {suite, test, f"{suite}.{test}"}
        found |= set(re.findall(r"def test_(\w+)", page(path))) | set(re.findall(r"^def (\w+)", page(path), re.MULTILINE))
    return found


def check_tests(path, text, root=ROOT):
    """Checks the tests that tables name: `Suite.Test`, `Suite.*`, `Suite.Begins…`, `Test`, `Suite`, a fuzz target, or
    a file."""
    in_table = False
    for number, line in outside_fences(text):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else [""]
        if not line.startswith("|"):
            in_table = False
        elif re.match(r"test( in .*)?$", cells[-1]):
            in_table = True
            continue
        for name in re.findall(r"`([^`]+)`", cells[-1]) if in_table else ():
            begins = name.rstrip("*…").rstrip(".")
            known = tests_of_the_tree()
            if "/" in name:
                good = (root / name).exists()
            else:
                good = any(one.startswith(begins) for one in known) if begins != name else name in known
            if not good:
                yield f"{path}:{number}: there is no test {name}"


def check_tree():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           text=True, capture_output=True, check=True).stdout.splitlines()
    for name in names:
        path = ROOT / name
        if path.suffix in TEXT and path.is_file() and "/corpus/" not in name and name not in SELF_TESTS:
            text = page(path)
            if path.suffix == ".md":
                yield from check_page(name, text)
                yield from check_tests(name, text)
            yield from check_names(name, text)


def self_test():
    here = "# A page\n\n## What `x.y` does, and why\n\n## Twice\n## Twice\n"
    refused = {
        "a page that is not there": "[it](nowhere.md)",
        "a heading that is not there": "[it](#nothing)",
        "a heading of another page": "[it](docs/rings.md#nothing)",
        "a third of two": "[it](#twice-2)",
    }
    taken = {
        "headings": "[one](#what-xy-does-and-why) [two](#twice) [three](#twice-1) [four](#a-page)",
        "a page and its heading": "[it](docs/rings.md#waiting)",
        "a link out": "[it](https://example.org/x#y)",
        "a fence": "```\n[it](nowhere.md)\n```",
        "code": "`[it](nowhere.md)`",
    }
    wrong = [f"got past: {what}" for what, text in refused.items() if not list(check_page("x.md", here + text))]
    wrong += [f"refused: {what}" for what, text in taken.items() if list(check_page("x.md", here + text))]
    for text, count in (("see docs/rings.md", 0), ('docs/rings.md ("Waiting")', 0), ("docs/nowhere.md", 1),
                        ('docs/rings.md\n    # ("Nothing\n    # there")', 1), ("docs/rings.md (Waiting)", 0)):
        if len(list(check_names("x.cc", text))) != count:
            wrong.append(f"judged wrong: {text}")
    table = "| attack | test |\n|---|---|\n| one | `%s` |\n\n| a | b |\n|---|---|\n| c | `NoTest` |\n"
    for name, count in (("Printable.*", 0), ("Printable.Leaves…", 0), ("Printable.LeavesTextAsItIs", 0), ("link_fuzz", 0),
                        ("tests/links.py", 0), ("Printable.Nothing", 1), ("NoSuchTest", 1), ("tests/none.py", 1)):
        if len(list(check_tests("x.md", table % name))) != count:
            wrong.append(f"judged wrong: a test {name}")
    return wrong


if __name__ == "__main__":
    checker.run("links", self_test, check_tree, "every link leads to an existing file and heading")
