# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/promql.py: finds the metrics and labels that a PromQL expression names, and checks that they exist."""

import collections
import re

TOKEN = re.compile(r"""
    (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*') | (?P<range>\[[^\]]*\]) |
    (?P<number>\d+(?:\.\d+)?[a-z]*) | (?P<name>[a-zA-Z_:][\w:]*) | (?P<sign>=~|!~|!=|==|<=|>=|[^\s\w])
    """, re.VERBOSE)
BEFORE_LABELS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
WORDS = BEFORE_LABELS | {"and", "or", "unless", "bool", "offset", "sum", "count", "min", "max", "avg", "topk"}

# One metric in an expression; `matchers` is a list of (label, operator, value).
Selector = collections.namedtuple("Selector", "metric matchers")


def read(expression):
    """Returns the selectors of an expression, and the labels that its groupings and matchings name.

    A variable of Grafana ($name) counts as the number 1, not as a name.
    """
    text = re.sub(r"\$\{?\w+\}?", "1", expression)
    tokens = [(match.lastgroup, match.group()) for match in TOKEN.finditer(text)] + [("end", "")]
    selectors, labels, at = [], set(), 0
    while tokens[at][0] != "end":
        kind, word = tokens[at]
        following = tokens[at + 1][1]
        at += 1
        if word in BEFORE_LABELS and following == "(":
            end = tokens.index(("sign", ")"), at)
            labels |= {word for kind, word in tokens[at:end] if kind == "name"}
            at = end
        elif word == "{":
            end = tokens.index(("sign", "}"), at)
            words = [word for _, word in tokens[at:end] if word != ","]
            selectors[-1].matchers.extend((words[i], words[i + 1], words[i + 2].strip("\"'"))
                                          for i in range(0, len(words), 3))
            at = end
        elif kind == "name" and word not in WORDS and following != "(":
            selectors.append(Selector(word, []))
    return selectors, labels


class Exported:
    """The metrics that a Prometheus has, with their labels and the values of each label."""

    def __init__(self):
        self.metrics = collections.defaultdict(lambda: collections.defaultdict(set))

    def add(self, series):
        """Adds one time series, given its labels; the label __name__ is the metric's name."""
        has = self.metrics[series["__name__"]]
        for label, value in series.items():
            has[label].add(value)

    def complaints(self, expression, complete=()):
        """Yields a text for each metric, label or value that `expression` names and Prometheus does not have.

        `complete`: the labels whose values are checked. Of other labels, Prometheus need not have all values.
        """
        selectors, labels = read(expression)
        there = set()
        for metric, matchers in selectors:
            if metric not in self.metrics:
                yield f"no metric {metric}"
                continue
            has = self.metrics[metric]
            there |= set(has)
            for label, operator, value in matchers:
                if label not in has:
                    yield f"{metric} has no label {label}"
                elif label in complete and value != "1":  # read() put "1" in the place of a variable of Grafana
                    wanted = value.split("|") if operator in ("=~", "!~") else [value]
                    yield from (f"{metric}: no {label} is {one}" for one in wanted if one not in has[label])
        yield from (f"no metric here has label {label}" for label in labels - there)
