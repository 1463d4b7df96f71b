#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/tidy.py: checks the project's rules on files: sizes, first lines, leftovers, registration of tests.

Prints `file:line: message` for each breach; the exit status is 1 if there is one.
`--self-test` checks that this program finds breaches.
"""

import fnmatch
import os
import pathlib
import re
import subprocess

import checker
import spdx

ROOT = pathlib.Path(__file__).resolve().parent.parent

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100

CODE = ["*.cc", "*.h"]
TEXT = CODE + ["*.py", "*.sh", "*.y", "*.l", "*.go", "*.java", "*.js", "*.html", "*.css", "*.thrift",
               "*.md", "*.txt", "*.cmake", "*.yaml", "dev", ".ci/run"]
# Files that need not follow the rules: inputs of tests, and files that tools write.
NOT_OURS_TO_TIDY = ["*/testdata/*", "tests/fuzz/corpus/*", "*.sum", "*.json"]
TABS_BELONG = ["*.go"]
WRITTEN_BY_A_PROGRAM = ["docs/results.md"]  # has no limit of lines

LEFTOVER = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X])\b")  # in brackets, so that this line does not match
USING_NAMESPACE = re.compile(r"^\s*using namespace\b")


def like(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def first_line(path, line):
    """Checks the line after the SPDX line: it must describe the file; a .cc file may include its header instead."""
    if line.startswith(f"// {path}: ") and len(line) > len(path) + 10:
        return None
    if path.endswith(".cc") and line.startswith("#include "):
        return None
    return f'begins with "// {path}: what it is, in one sentence"' + (
        ", or with its header" if path.endswith(".cc") else "")


def long_functions(lines):
    """Yields (line, number of lines) for each function that is too long.

    Relies on clang-format's layout: a body reaches from a line that ends in "{" to the "}" with the same indentation.
    Classes, namespaces, enums and initializers are not functions.
    """
    holder = re.compile(r"^\s*(template\b.*|inline |static )*(class|struct|union|enum|namespace|extern)\b")
    for index, line in enumerate(lines):
        if not line.endswith("{") or line.lstrip().startswith("//") or re.search(r"=\s*\{$|=\s*\{\{$", line):
            continue
        start = index
        is_lambda = re.search(r"\[[^\]]*\]\(", line)
        while not is_lambda and start > 0 and lines[start - 1] and lines[start - 1][-1] not in ";{}:" \
                and not lines[start - 1].lstrip().startswith(("//", "#")):
            start -= 1
        head = " ".join(lines[start:index + 1])
        if holder.match(head) or "(" not in head:
            continue
        indent = len(lines[start]) - len(lines[start].lstrip())
        closing = " " * indent + "}"
        for end in range(index + 1, len(lines)):
            if lines[end].startswith(closing):
                if end - start + 1 > FUNCTION_LINES_MAX:
                    yield start + 1, end - start + 1
                break


def check_text(path, text):
    lines = text.split("\n")
    code = like(path, CODE)
    if text and not text.endswith("\n"):
        yield len(lines), "the file does not end with a line break"
    if code:
        wrong = first_line(path, spdx.without(path, lines)[0])
        if wrong:
            yield 2, wrong
        for number, count in long_functions(lines):
            yield number, f"a function of {count} lines; at most {FUNCTION_LINES_MAX}"
    if len(lines) - 1 > FILE_LINES_MAX and not like(path, WRITTEN_BY_A_PROGRAM):
        yield len(lines) - 1, f"{len(lines) - 1} lines; at most {FILE_LINES_MAX}"
    for number, line in enumerate(lines, 1):
        if code and len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns; at most {COLUMNS_MAX}"
        if LEFTOVER.search(line):
            yield number, "a leftover mark: finish the work, or write an issue"
        if "\t" in line and not like(path, TABS_BELONG):
            yield number, "a tab"
        if line != line.rstrip(" \t\r"):
            yield number, "blanks at the end of the line"
        if path.endswith(".h") and USING_NAMESPACE.match(line):
            yield number, "`using namespace` in a header affects every file that includes it"


def check_registered(tests, cmake_texts):
    """Yields each *_test.cc and *_fuzz.cc that no CMakeLists.txt builds, in its folder or in a folder above."""
    for test in tests:
        folder = pathlib.PurePosixPath(test).parent
        for above in [folder, *folder.parents]:
            text = cmake_texts.get(str(above / "CMakeLists.txt"), "")
            name = str(pathlib.PurePosixPath(test).relative_to(above))
            if re.search(r"(^|[\s(/])" + re.escape(name) + r"\b", text):
                break
        else:
            yield test, "no CMakeLists.txt builds this test, so it never runs"


def first_bytes(path):
    with open(ROOT / path, "rb") as file:
        return file.readline()


def is_shell(path):
    first = first_bytes(path)
    return path.endswith(".sh") or (first.startswith(b"#!") and first.rstrip().endswith(b"bash"))


def check_shell(path):
    done = subprocess.run(["bash", "-n", str(ROOT / path)], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        yield f"{path}: bash -n: {done.stderr.strip()}"


def check_tree():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    names = [name for name in listed.split("\0") if name and os.path.isfile(ROOT / name)]
    cmake_texts = {}
    for name in names:
        if spdx.line_of(name, first_bytes(name)):
            unlicensed = spdx.wrong(name, (ROOT / name).read_bytes().decode())
            if unlicensed:
                yield f"{name}:{unlicensed[0]}: {unlicensed[1]}"
        if like(name, NOT_OURS_TO_TIDY):
            continue
        if like(name, TEXT):
            text = (ROOT / name).read_bytes().decode()
            for number, what in check_text(name, text):
                yield f"{name}:{number}: {what}"
            if name.endswith("CMakeLists.txt"):
                cmake_texts[name] = text
        if is_shell(name):
            yield from check_shell(name)
    tests = [name for name in names if like(name, ["*_test.cc", "*_fuzz.cc"])]
    for name, what in check_registered(tests, cmake_texts):
        yield f"{name}:1: {what}"


def self_test():
    good = "// a/b.h: what it holds.\n"
    body = "  x();\n"
    refused = {
        "no first line": ("a/b.h", "#pragma once\n"),
        "another file's first line": ("a/b.h", "// a/c.h: what it holds.\n"),
        "no line break at the end": ("a/b.h", good + "int x;"),
        "a long line": ("a/b.h", good + "//" + "x" * 99 + "\n"),
        "a long file": ("a/b.py", "x\n" * 601),
        "a long function": ("a/b.cc", '#include "a/b.h"\nvoid f() {\n' + body * 69 + "}\n"),
        "a long method": ("a/b.h", good + "class A {\n  void f(int x,\n         int y) {\n"
                          + "  " + ("  " + body) * 69 + "  }\n};\n"),
        "a leftover": ("a/b.h", good + "// TO" + "DO: later\n"),
        "a tab": ("a/b.py", "if x:\n\ty\n"),
        "trailing blanks": ("a/b.md", "text \n"),
        "using namespace": ("a/b.h", good + "using namespace std;\n"),
    }
    taken = {
        "a good header": ("a/b.h", good + "#pragma once\n"),
        "a good header with a licence": ("a/b.h", f"// {spdx.SPDX}\n{good}#pragma once\n"),
        "a function at the limit": ("a/b.cc", '#include "a/b.h"\nvoid f() {\n' + body * 68 + "}\n"),
        "a lambda in a list": ("a/b.cc", '#include "a/b.h"\nvoid f() {\n  g({{"x",\n      [&](int x) {\n'
                               + "        x();\n      }}});\n}\n" + "void h() {}\n" * 90),
        "a long file that a program wrote": ("docs/results.md", "x\n" * 601),
        "a long class": ("a/b.h", good + "class A {\n" + "  int x();\n" * 90 + "};\n"),
    }
    wrong = [f"got past: {name}" for name, (path, text) in refused.items()
             if not list(check_text(path, text))]
    wrong += [f"refused: {name}" for name, (path, text) in taken.items()
              if list(check_text(path, text))]
    licence = "SPDX-License-Identifier: Apache-2.0"
    unlicensed = {"a/b.h": good, "a/b.cc": '#include "a/b.h"\n', "a/b.py": '#!/usr/bin/env python3\nx\n',
                  "a/c.py": f"# {licence}-only\n", "a/b.sh": f"#!/bin/sh\n\n# {licence}\n", "a/x.css": "p {}\n",
                  "a/d.h": f"{good}// {licence}\n"}
    wrong += [f"got past: no SPDX line: {path}" for path, text in unlicensed.items() if not spdx.wrong(path, text)]
    licensed = {"a/b.h": f"// {licence}\n{good}", "a/b.py": f"#!/usr/bin/env python3\n# {licence}\nx\n",
                "a/x.css": f"/* {licence} */\n", "a/testdata/b.py": "x\n", "a/b.json": "{}\n"}
    wrong += [f"refused: an SPDX line: {path}" for path, text in licensed.items() if spdx.wrong(path, text)]
    cmake = {"a/CMakeLists.txt": "hat_test(t\n  SOURCES b/one_test.cc two_test.cc)\n"}
    unregistered = dict(check_registered(["a/b/one_test.cc", "a/two_test.cc", "a/o_test.cc"], cmake))
    if list(unregistered) != ["a/o_test.cc"]:
        wrong.append(f"registration is judged wrong: {unregistered}")
    return wrong


if __name__ == "__main__":
    checker.run("tidy", self_test, check_tree, "every file keeps the house rules")
