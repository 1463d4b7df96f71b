#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/k8s/build.py: downloads and builds the tools and schemas of the Kubernetes tests: `build.py FOLDER`.

If FOLDER is up to date, it does nothing. Afterwards FOLDER contains:

FOLDER/render    a program with kustomize and Helm (tests/k8s/render), from the Go proxy; go.sum has the checksums
FOLDER/schemas   Kubernetes' JSON schemas, from the package kubernetes-validate of PyPI
FOLDER/crds      the resource definitions of the Prometheus operator and of cert-manager, from their Go modules
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
SCHEMAS = "kubernetes-validate==1.29.1"
# The Go modules, and the file of each resource definition in the module, by the resource's name.
CRDS = {"github.com/prometheus-operator/prometheus-operator": {
            name: f"example/prometheus-operator-crd/monitoring.coreos.com_{name}.yaml"
            for name in ("podmonitors", "prometheusrules")},
        "github.com/cert-manager/cert-manager": {"certificates": "deploy/crds/crd-certificates.yaml"}}
GO = {"GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}


def run(words, where=None):
    words = [str(word) for word in words]
    if shutil.which(words[0]) is None:
        raise SystemExit(f"k8s: {words[0]} is not installed; ./dev test installs it")
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, check=False,
                          env={**os.environ, **GO})
    if done.returncode != 0:
        raise SystemExit(f"k8s: {' '.join(words)[:300]}\n{done.stdout}{done.stderr}")
    return done.stdout


def render(folder):
    # Build without optimization. This saves a minute, and the program runs only for a second.
    run(["go", "build", "-gcflags=all=-N -l", "-ldflags=-s -w", "-o", folder / "render", "."],
        HERE / "render")


def schemas(folder):
    shutil.rmtree(folder / "schemas", ignore_errors=True)
    run([PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--root-user-action=ignore",
         "--target", folder / "schemas", SCHEMAS])


def crds(folder):
    (folder / "crds").mkdir(exist_ok=True)
    for module, files in CRDS.items():
        told = json.loads(run(["go", "mod", "download", "-json", module], HERE / "crds"))
        for name, file in files.items():
            (folder / "crds" / f"{name}.yaml").write_bytes((pathlib.Path(told["Dir"]) / file).read_bytes())


def wanted():
    """Returns a digest of the files that determine the content of the folder."""
    files = [HERE / "build.py", *sorted(HERE.glob("render/*")), *sorted(HERE.glob("crds/*"))]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    stamp = folder / "made-from"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted():
        return
    for step in (render, schemas, crds):
        step(folder)
    stamp.write_text(wanted(), encoding="utf-8")


if __name__ == "__main__":
    main()
