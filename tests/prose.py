#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/prose.py: checks comments and documents for patterns that new readers have to read twice.

Prints `file:line: pattern: the words, and what to write instead`. tests/prose_counts.json has the number of matches of
each pattern that comments and documents may still contain. More matches are a breach, and so are fewer: then
`tests/prose.py --lower` must write the lower numbers. A word in the last column of a table of docs/glossary.md is
retired, and no C++ file may contain it.

`--list PATTERN` prints every match of one pattern. `--self-test` checks that this program finds breaches.
"""

import json
import pathlib
import re
import subprocess
import sys

import checker

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNTS = ROOT / "tests/prose_counts.json"
GLOSSARY = ROOT / "docs/glossary.md"
CODE = ("*.h", "*.cc")
DOCUMENTS = ("*.md",)
NOT_PROSE = ("docs/results.md", "docs/glossary.md", "LICENSE")  # a program makes results.md from docs/results/
SHOWN_MAX = 10

SENTENCE_START = r"(?:^|(?<=[.;:] ))"
# By name: the regular expression of a pattern, and the words to write instead.
PATTERNS = {
    "where-for-if": (r"\b[Ww]here (?=there|it|one|they|that|this|nothing|nobody|no|some|any|all|a|an|the|two|only|such)\b",
                     "`if` or `when`, unless it is a place"),
    "what-clause": (SENTENCE_START + r"What (?![^.?]{0,80}\?)[a-z]+", "name the subject"),
    "who-without-noun": (r"(?:[.;:,(]|\b(?:and|but|for|from|than|of|by|to|as)) [Ww]ho(?:ever|m)?\b",
                         "the peer, the caller, the thread …"),
    "value-without-verb": (SENTENCE_START + r"(?:False|True|None|Empty|Null|Nothing)(?=:| where| while)", "Returns … if …"),
    "tell": (r"\b(?:[Tt]ells?|[Tt]old|[Tt]elling)\b", "returns, calls, logs, sends"),
    "so-many": (r"\bso (?:many|long|much|often)\b(?! (?:as|that))", "the name of the parameter"),
    "behind": (r"\bbehind\b", "after"),
    "lies": (r"\b(?:lie|lies|lay)\b", "is at, is in"),
    "goes-by": (r"\b(?:go|goes|come|comes) by\b|\b[Gg]o(?:es)? on\b", "uses, continues"),
    "is-no": (r"(?<![Tt]here )\b(?:is|are) no (?!longer|more\b|other\b)[a-z]+", "is not a …"),
}
# The pattern of a comment above a function's declaration in a header that does not begin with a verb.
NO_VERB = "no-verb"
NO_VERB_ADVICE = "begin with a verb: Returns …, Appends …, Starts …"

TOKEN = re.compile(r'R"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])*\''
                   r"|//(?P<text>[^\n]*)", re.DOTALL)
DECLARATION = re.compile(r"^\s*(?:template\b.*|(?:\[\[\w+\]\] |static |virtual |inline |constexpr |explicit |friend )*"
                         r"[\w:<>,*&\s~]+\(.*|.*\boperator\b.*\(.*)$")
NOT_DECLARED = re.compile(r"^\s*(?:#|using\b|struct\b|class\b|enum\b|namespace\b|return\b|static_assert|public:|private:|"
                          r"inline constexpr [\w:<> ]+\s+k[A-Z]|static constexpr [\w:<> ]+\s+k[A-Z])")


def comments(text):
    """Yields (line, text) for each // comment."""
    for found in TOKEN.finditer(text):
        if found["text"] is not None:
            yield text.count("\n", 0, found.start()) + 1, found["text"].strip()


def blocks(lines):
    """Yields (first line, texts) for each run of adjacent lines, because a phrase may be broken over lines."""
    start, words, last = 0, [], -1
    for number, line in lines:
        if number != last + 1 and words:
            yield start, words
            words = []
        if not words:
            start = number
        words.append(line)
        last = number
    if words:
        yield start, words


def prose_lines(text):
    """Yields (line, text) for each line of a document, without fenced blocks and `code`."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"^\s*```", line):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`", "`code`", line).strip()


def matches(lines):
    """Yields (line, pattern, words) for each match of a pattern in `lines`, which has (line, text)."""
    for start, words in blocks(lines):
        joined = "\n".join(words)
        flat = joined.replace("\n", " ")
        for name, (pattern, _) in PATTERNS.items():
            for found in re.finditer(pattern, flat):
                yield start + joined.count("\n", 0, found.start() + 1), name, found[0].strip()


def function_comments(text):
    """Yields (line, first word) for each comment above a function's declaration that does not begin with a verb."""
    lines = text.splitlines()
    for index in range(1, len(lines)):
        above, here = lines[index - 1].strip(), lines[index]
        if not above.startswith("//") or here.strip().startswith("//") or not DECLARATION.match(here) or NOT_DECLARED.match(here):
            continue
        first = index - 1
        while first > 0 and lines[first - 1].strip().startswith("//"):
            first -= 1
        word = lines[first].strip("/ ").split(" ")[0].rstrip(",:.")
        if word.startswith(("-", "SPDX")) or re.fullmatch(r"[A-Z]\w*s|Does|Has", word):
            continue
        yield first + 1, word


def tracked(patterns):
    names = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in names.split() if not name.startswith(NOT_PROSE) and (ROOT / name).is_file()]


def find_all():
    """Returns all matches, as {"comments" or "documents": {pattern: [(file, line, words)]}}."""
    found = {kind: {name: [] for name in [*PATTERNS, NO_VERB]} for kind in ("comments", "documents")}
    for name in tracked(CODE):
        text = (ROOT / name).read_text(encoding="utf-8")
        for line, pattern, words in matches(comments(text)):
            found["comments"][pattern].append((name, line, words))
        if name.endswith(".h"):
            found["comments"][NO_VERB] += [(name, line, word) for line, word in function_comments(text)]
    for name in tracked(DOCUMENTS):
        for line, pattern, words in matches(prose_lines((ROOT / name).read_text(encoding="utf-8"))):
            found["documents"][pattern].append((name, line, words))
    return found


def counts_of(found):
    return {kind: {name: len(places) for name, places in by_pattern.items() if places} for kind, by_pattern in found.items()}


def compare(found, allowed):
    """Yields a message for each pattern of which `found` has more or fewer matches than `allowed` has."""
    for kind, by_pattern in found.items():
        for name, places in by_pattern.items():
            most = allowed.get(kind, {}).get(name, 0)
            if len(places) < most:
                yield (f"tests/prose_counts.json: {kind} have {len(places)} of {name}, and {most} are allowed; "
                       "run tests/prose.py --lower")
            if len(places) > most:
                advice = PATTERNS[name][1] if name in PATTERNS else NO_VERB_ADVICE
                yield f"{kind} have {len(places)} of {name}, and {most} are allowed; write: {advice}"
                yield from (f"{file}:{line}: {name}: {words}" for file, line, words in places[:SHOWN_MAX])


def retired(glossary):
    """Returns {retired word: term} from the last columns of the glossary's tables."""
    words = {}
    for row in re.findall(r"^\| (?!term|---)(.+) \|$", glossary, re.MULTILINE):
        cells = [cell.strip() for cell in row.split(" | ")]
        if len(cells) == 3:
            words.update({word: cells[0] for word in re.findall(r"`([^`]+)`", cells[2])})
    return words


def retired_in(name, text, words):
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, words)) + r")\b")
    for number, line in enumerate(text.splitlines(), 1):
        for found in pattern.findall(line):
            yield f"{name}:{number}: '{found}' is retired; the glossary has '{words[found]}'"


def check_tree():
    yield from compare(find_all(), json.loads(COUNTS.read_text(encoding="utf-8")))
    words = retired(GLOSSARY.read_text(encoding="utf-8"))
    if not words:
        yield "docs/glossary.md: no table has a retired word"
    for name in tracked(CODE):
        yield from retired_in(name, (ROOT / name).read_text(encoding="utf-8"), words)


def self_test():
    wrong = []
    for name, text in (("where-for-if", "Fails where the\n// peer is gone."), ("what-clause", "What comes is kept."),
                       ("who-without-noun", "It ends, and who\n// waits fails."), ("value-without-verb", "Sends it. False: no."),
                       ("tell", "The peer is told."), ("so-many", "Waits so long."), ("behind", "The bytes behind it."),
                       ("lies", "It lies there."), ("goes-by", "The rest goes\n// on."), ("is-no", "It is no frame.")):
        if [found[1] for found in matches(comments(f"int x;  // {text}\n"))] != [name]:
            wrong.append(f"got past, or more than once: {text!r}")
    if list(matches(comments('const char* text = "What is // told";\n'))):
        wrong.append("refused: a string")
    if list(matches(prose_lines("```\nwhat is told\n```\n`told`\n"))):
        wrong.append("refused: code in a document")
    for header, expected in (("// The size.\nsize_t size() const;\n", [(1, "The")]), ("// Returns it.\nint it();\n", []),
                             ("// A size.\nstruct Size {\n", []), ("// Bound.\nstatic constexpr size_t kMax = f(1);\n", [])):
        if list(function_comments(header)) != expected:
            wrong.append(f"function_comments({header!r}) is {list(function_comments(header))}")
    found = {"comments": {"tell": [("a.h", 1, "told")]}}
    if not list(compare(found, {})) or not list(compare(found, {"comments": {"tell": 2}})):
        wrong.append("got past: more or fewer than are allowed")
    if list(compare(found, {"comments": {"tell": 1}})):
        wrong.append("refused: as many as are allowed")
    words = retired("| term | meaning | not |\n|---|---|---|\n| doorbell | wakes | `Bells` |\n")
    if words != {"Bells": "doorbell"} or not list(retired_in("a.h", "class Bells {", words)):
        wrong.append("got past: a retired word")
    return wrong


def main():
    if sys.argv[1:] == ["--lower"]:
        found, allowed = counts_of(find_all()), json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.is_file() else None
        if allowed is not None:
            found = {kind: {name: min(count, allowed.get(kind, {}).get(name, 0)) for name, count in by_pattern.items()}
                     for kind, by_pattern in found.items()}
        COUNTS.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    elif len(sys.argv) == 3 and sys.argv[1] == "--list":
        for by_pattern in find_all().values():
            print("\n".join(f"{file}:{line}: {words}" for file, line, words in by_pattern.get(sys.argv[2], [])))
    else:
        checker.run("prose", self_test, check_tree, "no pattern grows, and no retired word is used")


if __name__ == "__main__":
    main()
