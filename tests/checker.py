# SPDX-License-Identifier: Apache-2.0
"""tests/checker.py: the command line of the checkers, such as rooms.py and tidy.py."""

import sys


def run(name, self_test, check_tree, praise):
    """Prints each breach of a rule, and exits with status 1 if there is one. `--self-test` runs only self_test."""
    if sys.argv[1:] == ["--self-test"]:
        breaches = self_test()
    elif len(sys.argv) == 1:
        breaches = self_test() + list(check_tree())
    else:
        sys.exit(f"usage: tests/{name}.py [--self-test]")
    print("\n".join(breaches) or f"{name}: {praise}")
    sys.exit(1 if breaches else 0)
