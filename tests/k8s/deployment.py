# SPDX-License-Identifier: Apache-2.0
"""tests/k8s/deployment.py: functions for tests of deploy/k8s, such as writing its files in the layout of a node."""

import os
import pathlib
import re
import subprocess

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
K8S = ROOT / "deploy" / "k8s"
# Each kustomize overlay, and the value `rdma.mode` with which the Helm chart must make the same objects.
OVERLAYS = {"no-rdma": "none", "shared-rdma": "shared", "sriov": "sriov"}
ENVIRONMENT = {**os.environ, "NODE_NAME": "worker-1", "POD_IP": "10.0.0.11"}


def replaced(text, replacements):
    """Replaces each key of `replacements` in `text` by its value; raises AssertionError if `text` lacks a key."""
    for old, new in replacements.items():
        if old not in text:
            raise AssertionError(f"there is no {old} in\n{text}")
        text = text.replace(old, new)
    return text


def write_node(folder, node_text, manifests, replacements=None):
    """Writes hatrpcd.yaml and its manifests with the layout of /etc/hatrpc; returns the path of hatrpcd.yaml."""
    (folder / "node").mkdir()
    (folder / "manifests").mkdir()
    for name, text in manifests.items():
        (folder / "manifests" / name).write_text(text, encoding="utf-8")
    file = folder / "node" / "hatrpcd.yaml"
    file.write_text(replaced(node_text, replacements or {}), encoding="utf-8")
    return file


def without_tls(node_text):
    """Returns an overlay's hatrpcd.yaml without TLS: with the insecure `link` that is shown in a comment of it."""
    shown = re.search(r"(?m)^# (link: .*insecure.*\n)", node_text)
    text = re.sub(r"(?m)^link: .*\n .*\n", lambda _: shown[1], node_text)
    return re.sub(r', identity: "[^"]*"', "", text)


def by_name(node_text):
    """Returns an overlay's hatrpcd.yaml with the headless Service as its only peer, as a comment of it shows."""
    shown = "\n".join(line.removeprefix("# ") for line in
                      re.search(r"(?m)^# peers: .*\n# .*\n", node_text)[0].splitlines())
    text = re.sub(r"(?m)^peers:\n(  .*\n)+", lambda _: shown + "\n", node_text)
    return text.replace("peers: [worker-1, worker-2]", "peers: [nodes]")


def write_certificates(programs, folder):
    """Makes the three files of the Secret with the commands of the README, with the mode that kubelet sets (0440)."""
    subprocess.run([programs / "hatctl", "certs", "make", folder, "hatrpcd", "--trust-domain", "cluster.local"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    for made, name in {"hatrpcd.pem": "tls.crt", "hatrpcd.key": "tls.key", "ca.pem": "ca.crt"}.items():
        (folder / made).rename(folder / name)
        (folder / name).chmod(0o440)


def check(hatrpcd, file, environment=None):
    """Runs `hatrpcd --check` on a configuration file; returns the exit status and the printed diagnostics."""
    done = subprocess.run([hatrpcd, "--check", "--config", file], capture_output=True, text=True,
                          check=False, env=environment or ENVIRONMENT, timeout=60)
    return done.returncode, done.stderr


def base_manifests():
    return {file.name: file.read_text(encoding="utf-8")
            for file in (K8S / "base" / "manifests").iterdir()}


def bytes_of(quantity):
    """Converts a Kubernetes quantity such as "1536Mi" to a number of bytes."""
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi)", quantity).groups()
    return int(number) << {"Mi": 20, "Gi": 30}[unit]


def all_yaml(text):
    return [document for document in yaml.safe_load_all(text) if document is not None]
