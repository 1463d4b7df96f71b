#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/k8s/rules.py: makes the PrometheusRule of kustomize and of the chart from deploy/monitoring/hatrpc.rules.yaml.

usage: rules.py           writes both files
       rules.py --check   exits with status 1 if a file differs from what rules.py would write
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
RULES = HERE.parents[1] / "deploy" / "monitoring" / "hatrpc.rules.yaml"
MADE = "# Made from {} by deploy/k8s/rules.py: change it there.\n"
OBJECT = """apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: hatrpcd
  namespace: hatrpc-system
  labels: {app.kubernetes.io/name: hatrpcd, app.kubernetes.io/part-of: hatrpc}
spec:
"""


def made():
    """Returns the text of each file, by path."""
    head = MADE.format(RULES.relative_to(HERE.parents[1]))
    text = RULES.read_text(encoding="utf-8")
    indented = "".join("  " + line if line.strip() else line for line in text.splitlines(True))
    return {HERE / "components" / "monitoring" / "prometheusrule.yaml": head + OBJECT + indented,
            HERE / "chart" / "files" / "hatrpc.rules.yaml": head + text}


def main():
    stale = [path for path, text in made().items()
             if not path.exists() or path.read_text(encoding="utf-8") != text]
    if sys.argv[1:] == ["--check"]:
        for path in stale:
            print(f"{path} is out of date with {RULES}: run deploy/k8s/rules.py")
        return 1 if stale else 0
    if sys.argv[1:]:
        sys.exit(__doc__)
    for path in stale:
        path.write_text(made()[path], encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
