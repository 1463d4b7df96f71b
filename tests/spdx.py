# SPDX-License-Identifier: Apache-2.0
"""tests/spdx.py: defines which files must begin with an SPDX line, and the form of this line."""

import fnmatch
import re

SPDX = "SPDX-License-Identifier: Apache-2.0"

SLASHES = ["*.cc", "*.h", "*.go", "*.java", "*.js", "*.proto", "*go.mod"]
HASHES = ["*.py", "*.thrift", "*.sh", "*.cmake", "*CMakeLists.txt", "*.yaml", "*.yml", "*.toml", "*Dockerfile",
          "*.service", "*.socket", "*.conf", "dev", ".ci/run", "tests/lab/init", ".clang-format", ".clang-tidy",
          "debian/rules", "deploy/bash-completion/*"]
STARS = ["*.y", "*.l", "*.css"]
MARKUP = ["*.html", "*/pom.xml"]
# Files without an SPDX line: inputs of tests, files that programs write, and templates, which would copy the line to
# their output.
EXEMPT = ["*/testdata/*", "tests/fuzz/corpus/*", "docs/*", "deploy/k8s/chart/templates/*",
          "deploy/k8s/chart/files/*", "deploy/k8s/base/manifests/*", "deploy/k8s/components/*/prometheusrule.yaml"]
# Matches a line that must be the first line of a file, so that the SPDX line is the second.
FIRST = re.compile(r"#!|# syntax=|<\?xml|<!doctype", re.IGNORECASE)


def like(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def line_of(path, first_bytes=b""):
    """Returns the SPDX line that a file needs, or None."""
    if like(path, EXEMPT):
        return None
    if like(path, SLASHES):
        return f"// {SPDX}"
    if like(path, HASHES) or re.match(rb"#!.*\b(bash|sh|python3?|make)\b", first_bytes):
        return f"# {SPDX}"
    if like(path, STARS):
        return f"/* {SPDX} */"
    if like(path, MARKUP):
        return f"<!-- {SPDX} -->"
    return None


def goes_second(first_line):
    return FIRST.match(first_line) is not None


def wrong(path, text):
    """Returns (line number, what belongs there) if the SPDX line is missing, else None."""
    lines = text.split("\n", 2)
    line = line_of(path, lines[0].encode())
    at = 1 if goes_second(lines[0]) else 0
    if line is None or text.strip() == "" or lines[at:at + 1] == [line]:
        return None
    return at + 1, f'"{line}" belongs here'


def without(path, lines):
    """Returns the lines of a file without its SPDX line."""
    return [line for number, line in enumerate(lines) if number > 1 or line != line_of(path)]
