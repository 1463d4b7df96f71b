#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/trouble_page.py: checks that the code contains every message that docs/trouble.md quotes.

A message is the text between backquotes in the first column of a table; "…" stands for a part that varies. Prints each
message that the code does not contain; the exit status is 1 if there is one. `--self-test` checks that this program
finds wrong messages.
"""

import pathlib
import re

import checker

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/trouble.md"
FOLDERS = ("base", "client", "config", "daemon", "engine", "hatctl")
# Texts in the first column that the code need not contain as they are, such as errors of the operating system.
NOT_OURS = ("Connection refused", "No route to host", "Network is unreachable",
            "Connection timed out", "Permission denied", "Operation not permitted",
            "Cannot allocate memory", "Cannot assign requested address", "FILE:LINE:COLUMN: error:", "fabric: faults")


LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def literals(code):
    """Returns the string literals of a file, one per line. Adjacent literals, broken over lines, are joined."""
    joined = re.sub(r'"\s*\n\s*"', "", code)
    return "\n".join(found.replace('\\"', '"') for found in LITERAL.findall(joined))


def source_text():
    texts = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cc", ".h") and not re.search(r"_(test|fuzz)\.cc$", path.name):
                texts.append(literals(path.read_text(encoding="utf-8")))
    return "\n".join(texts)


def messages(page):
    """Yields (line number, message) for each message in the first column of a table."""
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("| ") or line.startswith("|---"):
            continue
        first = line.replace(r"\|", "").split("|")[1]
        for message in re.findall(r"`([^`]+)`", first):
            yield number, message


def fragments(message):
    """Yields the parts of a message that the code must contain: the message without "…" and NOT_OURS."""
    for words in NOT_OURS:
        message = message.replace(words, "…")
    for part in message.split("…"):
        part = part.strip(" :;,()'")
        if len(part) >= 3:
            yield part


def said(part, source):
    """Returns True if the code has the text in one string literal, or its halves in two literals."""
    halves = ((part[:at], part[at + 1:]) for at, c in enumerate(part) if c == " ")
    return part in source or any(len(one) >= 4 and len(other) >= 4 and one in source and other in source
                                 for one, other in halves)


def check_page(page, source):
    for number, message in messages(page):
        for part in fragments(message):
            if not said(part, source):
                yield f"{PAGE}:{number}: no string in the code contains “{part}”"


def check_tree():
    yield from check_page((ROOT / PAGE).read_text(encoding="utf-8"), source_text())


def self_test():
    source = literals('fail("the peer closed the link"); x = "no port"\n + (y ? "no" : " is active: ");\n'
                      '// "the peer \n"has opened" the link\n f("one"\n  " two");')
    wrong = []
    if list(check_page("| `the peer closed the link` | x |\n| `…: no port is active: …` | y |\n"
                       "| `one two` | |\n", source)):
        wrong.append("refused: messages that are there")
    for page in ("| `the peer opened the link` | x |\n", "| text | \n| `…: is inactive …` | y |\n",
                 "| `f(` | |\n".replace("f(", "fail x =")):
        if not list(check_page(page, source)):
            wrong.append(f"got past: {page}")
    return wrong


if __name__ == "__main__":
    checker.run("trouble_page", self_test, check_tree, "docs/trouble.md quotes only messages of the code")
