# SPDX-License-Identifier: Apache-2.0
"""bench/tool/results.py: what was measured, as it lies in results.json, and what follows from it.

The file holds facts alone: every value of every measurement, and on what, when and by which command
they came about. Medians, ratios and plots are made from it anew each time.
"""

import csv
import dataclasses
import json
import os
import statistics
import sys

from tool.words import error_words

FORMAT = 1
FILE = "results.json"


@dataclasses.dataclass
class Results:
    facts: dict  # results.json, but for its rows
    rows: list  # {"round", "point", "peer", and "values" or "error"}, in the order of measuring

    @property
    def name(self):
        return self.facts["name"]

    @property
    def peers(self):
        return self.facts["peers"]

    @property
    def points(self):
        return self.facts["points"]

    @property
    def control(self):
        """The name under which the first peer was measured once more; None in results of before."""
        return self.facts["control"]["peer"] if self.facts.get("control") else None

    def rows_of_tables(self):
        """Peers, with the control beside the one that it is."""
        if not self.control:
            return self.peers
        return [name for peer in self.peers
                for name in ([peer, self.control] if peer == self.facts["control"]["of"] else [peer])]

    def expected(self):
        return len(self.rows_of_tables()) * len(self.points) * self.facts["rounds"]

    def errors(self):
        return [row for row in self.rows if "error" in row]

    def cell(self, point, peer):
        return Cell([row for row in self.rows if row["peer"] == peer and row["point"] == point])

    def shortcomings(self):
        """Why these are not to be shown as a result: sentences; none for a run to its end."""
        found = []
        if self.facts["quick"]:
            found.append("it was a --quick run")
        if len(self.rows) < self.expected():
            found.append(f"it ended after {len(self.rows)} of {self.expected()} measurements")
        usual = self.facts["by_default"]
        if not self.facts["quick"] and any(self.facts[key] < usual[key] for key in usual):
            found.append(f"shorter than by default: {usual['rounds']} rounds of "
                         f"{usual['seconds']:g} s")
        if not self.control:
            found.append("it has no A/A control")
        if self.facts.get("busy"):
            found.append(f"the machine was busy: {self.facts['busy']}")
        left_out = [peer for peer in self.facts["all_peers"] if peer not in self.peers]
        if left_out:
            found.append(f"without {', '.join(left_out)}")
        for peer in self.peers:
            for point in self.points:
                cell = self.cell(point, peer)
                if cell.rows and not cell.good:
                    found.append(f"failed every time: {error_words(cell.rows[-1])}")
        return found


class Cell:
    """All rounds of one peer at one point."""

    def __init__(self, rows):
        self.rows = rows
        self.good = [row for row in rows if "error" not in row]

    def values(self, key):
        """Of the rounds that have it, in their order."""
        return [row["values"][key] for row in self.good if key in row["values"]]

    def summary(self, key):
        """Summary of a value; None where no round has it."""
        values = self.values(key)
        return Summary(values) if values else None

    def ratio(self, other, key):
        """To another cell's, round by round: what the machine did meanwhile hit both."""
        mine = {row["round"]: row["values"].get(key) for row in self.good}
        pairs = [(mine.get(row["round"]), row["values"].get(key)) for row in other.good]
        ratios = [a / b for a, b in pairs if a is not None and b]
        return Summary(ratios) if ratios else None


class Summary:
    """The median of some rounds, and how far they lie apart."""

    def __init__(self, values):
        self.median = statistics.median(values)
        self.lowest, self.highest = min(values), max(values)
        self.count = len(values)

    @property
    def spread(self):
        """Half of what lies between the lowest and the highest, of the median: ±0.05 is 5 %."""
        return (self.highest - self.lowest) / 2 / abs(self.median) if self.median else 0.0


def read(file):
    facts = json.loads(file.read_text(encoding="utf-8"))
    if facts.get("format") != FORMAT:
        raise ValueError(f"{file}: format {facts.get('format')}, not {FORMAT}: measure it again")
    return Results(facts, facts.pop("rows"))


def read_all(files, experiment_of):
    """The results in those files, in their order; what cannot be read or shown is named.

    `experiment_of` finds an Experiment by its name.
    """
    found = []
    for file in files:
        try:
            one = read(file)
            experiment_of(one.facts["experiment"])
            found.append(one)
        except ValueError as error:
            print(f"bench: {file} is left out: {error}", file=sys.stderr)
        except KeyError as error:
            print(f"bench: {file} is left out: it lacks {error}, or no experiment has that name",
                  file=sys.stderr)
    return found


def write(results, file):
    """Whole or not at all: who is interrupted leaves the file as it was."""
    text = json.dumps({**results.facts, "rows": []}, indent=1)[:-len("[]\n}")]
    rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in results.rows)
    new = file.with_suffix(".new")
    new.write_text(f"{text}[\n{rows}\n ]\n}}\n", encoding="utf-8")
    os.replace(new, file)


def write_csv(results, file):
    """A line for each measurement, for other tools."""
    keys = list(dict.fromkeys(key for point in results.points for key in point))
    values = list(dict.fromkeys(key for row in results.rows for key in row.get("values", {})))
    with open(file, "w", newline="", encoding="utf-8") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["round", *keys, "peer", *values, "error"])
        for row in results.rows:
            table.writerow([row["round"], *(row["point"].get(key, "") for key in keys), row["peer"],
                            *(row.get("values", {}).get(key, "") for key in values),
                            row.get("error", "")])
