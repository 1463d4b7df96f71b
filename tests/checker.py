# SPDX-License-Identifier: Apache-2.0
"""tests/checker.py: the command line of rooms.py and tidy.py."""

import sys


def run(name, self_test, check_tree, praise):
    """Prints each breach; exit status 1 where there is one. `--self-test` runs self_test alone."""
    if sys.argv[1:] == ["--self-test"]:
        breaches = self_test()
    elif len(sys.argv) == 1:
        breaches = self_test() + list(check_tree())
    else:
        sys.exit(f"usage: tests/{name}.py [--self-test]")
    print("\n".join(breaches) or f"{name}: {praise}")
    sys.exit(1 if breaches else 0)
