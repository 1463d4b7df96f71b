# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/promql.py: which metrics and labels an expression of PromQL names, and whether they are there."""

import collections
import re

TOKEN = re.compile(r"""
    (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*') | (?P<range>\[[^\]]*\]) |
    (?P<number>\d+(?:\.\d+)?[a-z]*) | (?P<name>[a-zA-Z_:][\w:]*) | (?P<sign>=~|!~|!=|==|<=|>=|[^\s\w])
    """, re.VERBOSE)
BEFORE_LABELS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
WORDS = BEFORE_LABELS | {"and", "or", "unless", "bool", "offset", "sum", "count", "min", "max", "avg", "topk"}

# One metric as it stands in an expression: matchers are (label, operator, value).
Selector = collections.namedtuple("Selector", "metric matchers")


def read(expression):
    """(selectors, the labels that groupings and matchings name). Grafana's variables are no names."""
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
    """What a Prometheus has: the values of each label of each metric, by their names."""

    def __init__(self):
        self.metrics = collections.defaultdict(lambda: collections.defaultdict(set))

    def add(self, series):
        """`series`: the labels of one, its name under __name__."""
        has = self.metrics[series["__name__"]]
        for label, value in series.items():
            has[label].add(value)

    def complaints(self, expression, complete=()):
        """What the expression names that is not there. `complete`: labels of which all values are there."""
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
                elif label in complete and value != "1":  # "1": a variable of Grafana's
                    wanted = value.split("|") if operator in ("=~", "!~") else [value]
                    yield from (f"{metric}: no {label} is {one}" for one in wanted if one not in has[label])
        yield from (f"no metric here has label {label}" for label in labels - there)
