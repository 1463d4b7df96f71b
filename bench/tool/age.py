# SPDX-License-Identifier: Apache-2.0
"""bench/tool/age.py: finds out whether a result is older than the code that it measures."""

from tool import machine


def words(one, experiment):
    """Returns a clause that says how much older a result is than the measured code, or "" if it is not older."""
    commit = one.facts["commit"]
    changes = machine.changes_since(commit, experiment.measures)
    if changes is None:
        return ("perhaps older than the code that it measures: its commit, "
                f"{commit}, is not in this repository")
    count, day = changes
    if count == 0:
        return ""
    return (f"older than the code that it measures: {count} commit{'s' if count > 1 else ''} since "
            f"{commit}, the last of {day}")
