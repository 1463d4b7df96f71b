#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/classes.py: checks that no class in a header has too many data members or booleans.

The limits are 25 data members, and 4 booleans among them. A class that needs more must give the reason in the comment
directly above it, in a line that begins with "Members". Prints `file:line: the rule` for each breach; the exit status
is 1 if there is one. `--self-test` checks that this program finds breaches.
"""

import pathlib
import re
import subprocess

import checker

ROOT = pathlib.Path(__file__).resolve().parent.parent

MEMBERS_MAX = 25
BOOLEANS_MAX = 4
WHY = re.compile(r"^\s*// Members\b", re.MULTILINE)

# Matches a comment, a string literal or a character literal.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-zA-Z_])\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
HEAD = re.compile(r"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*|alignas\([^)]*\)\s*)*(\w+)\s*(?:final\s*)?(?::[^;{}()]*)?\{")
# Matches the beginning of a declaration that declares no data member. A part that begins with a comma is the rest of a
# function's parameters after a default argument in braces.
NO_MEMBER = re.compile(r"^(?:using|friend|typedef|static|enum|class|struct|union|template|operator|explicit|virtual|"
                       r"constexpr|return|#)\b|^[~,]")
OPERATOR = re.compile(r"\boperator\b")
# Matches the arguments of templates and functions, whose commas do not separate members.
ARGUMENTS = re.compile(r"<[^<>]*>|\([^()]*\)")
BOOLEAN = re.compile(r"^(?:mutable |const )*(?:bool\b|std::atomic<bool>|std::atomic_bool\b)")


def without_comments(text):
    return NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def body_of(code, start):
    """Returns the text from `start`, just after a "{", to the matching "}", without the text in inner braces."""
    depth, body, at = 1, [], start
    while depth and at < len(code):
        letter = code[at]
        depth += (letter == "{") - (letter == "}")
        if depth == 1 and letter != "}":
            body.append(letter)
        elif depth == 1:
            body.append("}")
        at += 1
    return "".join(body)


def declarations(body):
    """Yields each declaration in a class body from body_of(), without `public:` and the like."""
    for part in re.split(r"[;}]", body):
        declaration = " ".join(re.sub(r"\b(?:public|protected|private)\s*:", " ", part).split())
        if declaration:
            yield declaration


def members_in(declaration):
    """Returns how many data members a declaration declares: 2 for `int a, b;`."""
    if NO_MEMBER.match(declaration) or OPERATOR.search(declaration):
        return 0
    # To recognise a function by its "(", first remove initializers, alignas(), decltype() and template arguments.
    head = re.split(r"=|\{", declaration, maxsplit=1)[0]
    head = re.sub(r"alignas\([^)]*\)|decltype\([^)]*\)", "", head)
    while re.search(r"<[^<>]*>", head):
        head = re.sub(r"<[^<>]*>", "", head)
    if "(" in head or len(head.split()) < 2:
        return 0
    declarators = declaration.split("{")[0]
    while ARGUMENTS.search(declarators):
        declarators = ARGUMENTS.sub("", declarators)
    return 1 + declarators.count(",")


def check_text(path, text):
    code = without_comments(text)
    for found in HEAD.finditer(code):
        if re.search(r"\benum\s+$", code[:found.start()]):
            continue
        counts = [(one, members_in(one)) for one in declarations(body_of(code, found.end()))]
        members = sum(count for _, count in counts)
        booleans = sum(count for one, count in counts if BOOLEAN.match(one))
        if members <= MEMBERS_MAX and booleans <= BOOLEANS_MAX:
            continue
        line = code.count("\n", 0, found.start())
        above = re.search(r"(?:^\s*//[^\n]*\n)*\Z", "\n".join(text.split("\n")[:line]) + "\n", re.MULTILINE)
        if above and WHY.search(above[0]):
            continue
        yield (f"{path}:{line + 1}: {found[1]} has {members} data members and {booleans} booleans; at most "
               f"{MEMBERS_MAX} and {BOOLEANS_MAX}, or a line above it that begins with '// Members' and says why")


def check_tree():
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.h"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    for path in files:
        yield from check_text(path, (ROOT / path).read_text())


def self_test():
    ints = "\n".join(f"  int a{i}_ = 0;" for i in range(26))
    bools = "\n".join(f"  bool b{i}_ = false;  // why, not what" for i in range(5))
    few = "\n".join(f"  bool b{i}_ = false;" for i in range(4))
    cases = [
        ("members", f"class A {{\n{ints}\n}};", True),
        ("booleans", f"struct A final : public B {{\n  void f(bool x) {{ return g(x); }}\n{bools}\n}};", True),
        ("an inner class", f"class A {{\n  struct B {{\n{bools}\n  }};\n  B b_;\n}};", True),
        ("booleans in braces", "class A {\n" + "\n".join(f"  bool b{i}_{{false}};" for i in range(5)) + "\n};", True),
        ("atomic booleans", "class A {\n" + "\n".join(f"  std::atomic<bool> b{i}_;" for i in range(5)) + "\n};", True),
        ("booleans in one declaration", "class A {\n  bool a_ = false, b_, c_ = g(1, 2), d_, e_;\n};", True),
        ("operators", "class A {\n" + "\n".join(f"  bool operator==(const B{i}&) const = default;" for i in range(9)) +
         "\n};", False),
        ("default arguments", "class A {\n" + "\n".join(f"  void f{i}(B b = {{}}, int c = 0, int d = 0);" for i in range(26)) +
         "\n};", False),
        ("types with commas", "class A {\n" + "\n".join(f"  std::map<int, P<A, B>> m{i}_ = f(1, g(2));" for i in range(25)) +
         "\n};", False),
        ("few", f"class A {{\n{few}\n  std::function<void(int)> f_;\n  int g() const {{ return 1; }}\n}};", False),
        ("functions", "class A {\n" + "\n".join(f"  bool f{i}() const;" for i in range(30)) + "\n};", False),
        ("constants", "class A {\n" + "\n".join(f"  static constexpr bool b{i} = true;" for i in range(9)) + "\n};", False),
        ("an enum class", "enum class A : uint8_t {\n" + ",\n".join(f"  kB{i}" for i in range(40)) + "\n};", False),
        ("says why", f"// Does a thing.\n// Members  one for each key of the file.\nstruct A {{\n{ints}\n}};", False),
    ]
    return [f"self-test: {name}: expected {'a' if wanted else 'no'} breach"
            for name, text, wanted in cases if bool(list(check_text("x.h", text))) != wanted]


if __name__ == "__main__":
    checker.run("classes", self_test, check_tree, "no class has too many members or booleans")
