# SPDX-License-Identifier: Apache-2.0
"""bench/tool/results.py: reads and writes results.json, and computes medians and ratios from it.

The file has only facts: every value of every measurement, and the machine, time and command of the measurements.
Medians, ratios and plots are computed from the file each time.
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
    facts: dict  # results.json without its rows
    rows: list  # {"round", "point", "peer", and "values" or "error"}, in the order of the measurements

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
    def is_computed(self):
        """True if the values are those of a model, so that they have no noise."""
        return "modelled" in self.facts.get("machine", {})

    @property
    def control(self):
        """The name of the A/A control (the first peer, measured once more), or None in old results."""
        return self.facts["control"]["peer"] if self.facts.get("control") else None

    def rows_of_tables(self):
        """Returns the peers, with the control after the peer that it repeats."""
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
        """Returns the reasons why these results are not complete, or [] if they are complete."""
        found = []
        if self.facts["quick"]:
            found.append("it was a --quick run")
        if len(self.rows) < self.expected():
            found.append(f"it ended after {len(self.rows)} of {self.expected()} measurements")
        usual = self.facts["by_default"]
        if not self.facts["quick"] and any(self.facts[key] < usual[key] for key in usual):
            found.append(f"shorter than by default: {usual['rounds']} rounds of "
                         f"{usual['seconds']:g} s")
        if not self.control and not self.is_computed:
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
    """The measurements of one peer at one point, in all rounds."""

    def __init__(self, rows):
        self.rows = rows
        self.good = [row for row in rows if "error" not in row]

    def values(self, key):
        """Returns the value in each round that has it, in the order of the rounds."""
        return [row["values"][key] for row in self.good if key in row["values"]]

    def summary(self, key):
        """Returns the Summary of a value, or None if no round has the value."""
        values = self.values(key)
        return Summary(values) if values else None

    def ratio(self, other, key):
        """Returns the Summary of the ratios of this cell's value to the cell `other`'s value, one ratio per round.

        A disturbance of the machine changes both values of a round alike, so it hardly changes their ratio.
        """
        mine = {row["round"]: row["values"].get(key) for row in self.good}
        pairs = [(mine.get(row["round"]), row["values"].get(key)) for row in other.good]
        ratios = [a / b for a, b in pairs if a is not None and b]
        return Summary(ratios) if ratios else None


class Summary:
    """The median, the lowest and the highest of the values of several rounds."""

    def __init__(self, values):
        self.median = statistics.median(values)
        self.lowest, self.highest = min(values), max(values)
        self.count = len(values)

    @property
    def spread(self):
        """Half of the difference between the highest and the lowest value, divided by the median (0.05 is ±5 %)."""
        return (self.highest - self.lowest) / 2 / abs(self.median) if self.median else 0.0


def read(file):
    facts = json.loads(file.read_text(encoding="utf-8"))
    if facts.get("format") != FORMAT:
        raise ValueError(f"{file}: format {facts.get('format')}, not {FORMAT}: measure it again")
    return Results(facts, facts.pop("rows"))


def read_all(files, experiment_of):
    """Reads the results in `files`, in this order; prints the name of each file that cannot be used.

    `experiment_of` is a function that returns the named Experiment.
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
    """Replaces the file atomically, so that the old file stays if the write is interrupted."""
    text = json.dumps({**results.facts, "rows": []}, indent=1)[:-len("[]\n}")]
    rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in results.rows)
    new = file.with_suffix(".new")
    new.write_text(f"{text}[\n{rows}\n ]\n}}\n", encoding="utf-8")
    os.replace(new, file)


def write_csv(results, file):
    """Writes a CSV file with a line for each measurement, for other programs."""
    keys = list(dict.fromkeys(key for point in results.points for key in point))
    values = list(dict.fromkeys(key for row in results.rows for key in row.get("values", {})))
    with open(file, "w", newline="", encoding="utf-8") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["round", *keys, "peer", *values, "error"])
        for row in results.rows:
            table.writerow([row["round"], *(row["point"].get(key, "") for key in keys), row["peer"],
                            *(row.get("values", {}).get(key, "") for key in values),
                            row.get("error", "")])
