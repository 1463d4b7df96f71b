# SPDX-License-Identifier: Apache-2.0
"""tests/checker.py: the command line that rooms.py, tidy.py and the other checks of the source tree have."""

import sys


def run(name, self_test, check_tree, praise):
    """Runs a check, and prints each breach of its rules (then the exit status is 1), or `praise` if there is none.

    With the option --self-test, only self_test() runs.
    """
    if sys.argv[1:] == ["--self-test"]:
        breaches = self_test()
    elif len(sys.argv) == 1:
        breaches = self_test() + list(check_tree())
    else:
        sys.exit(f"usage: tests/{name}.py [--self-test]")
    print("\n".join(breaches) or f"{name}: {praise}")
    sys.exit(1 if breaches else 0)
