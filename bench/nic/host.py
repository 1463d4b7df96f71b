# SPDX-License-Identifier: Apache-2.0
"""bench/nic/host.py: collects facts about this host: processor, kernel, RDMA devices, and what hatctl doctor finds."""

import json
import pathlib
import platform
import subprocess

from tool import machine

SYS = pathlib.Path("/sys")


def facts(programs, daemon):
    """Returns the facts as an object for JSON. `daemon`: the running Daemon, which hatctl doctor examines too."""
    status = daemon.get("/status")
    return {"host": platform.node(), **machine.facts(), "numa_nodes": len(list(SYS.glob("devices/system/node/node*"))),
            "governor": text(SYS / "devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            "libibverbs": libibverbs(), "fabric": status["fabric"], "workers": status["workers"],
            "devices": devices(), "doctor": doctor(programs, daemon)}


def text(file):
    """Returns the text of a small file, or "" if it cannot be read: not every kernel and driver has every file."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def libibverbs():
    """Returns the version of the package libibverbs1, which is that of rdma-core."""
    return ended(["dpkg-query", "-W", "-f=${Version}", "libibverbs1"]).stdout or "unknown"


def ended(command, seconds=120):
    """Runs a command to its end; returns its CompletedProcess. A command that takes too long has failed."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"it has not ended within {seconds} s")


def devices(root=SYS):
    """Returns the facts about each RDMA device. A device without a driver of its own is emulated, as Soft-RoCE is."""
    return [device(folder) for folder in sorted((root / "class/infiniband").glob("*"))]


def device(folder):
    hardware = folder / "device"
    return {"name": folder.name, "type": text(folder / "hca_type"), "firmware": text(folder / "fw_ver"),
            "board": text(folder / "board_id"),
            "driver": (hardware / "driver").resolve().name if (hardware / "driver").exists() else "none: emulated",
            "pci_id": f"{text(hardware / 'vendor')}:{text(hardware / 'device')}".strip(":"),
            "pci_link": " x".join(filter(None, (text(hardware / "current_link_speed"),
                                                text(hardware / "current_link_width")))),
            "numa_node": text(hardware / "numa_node"),
            "ports": [port(one) for one in sorted((folder / "ports").glob("*"))]}


def port(folder):
    interface = text(folder / "gid_attrs/ndevs/0")
    return {"port": folder.name, "state": text(folder / "state"), "link_layer": text(folder / "link_layer"),
            "rate": text(folder / "rate"), "interface": interface,
            "interface_mtu": text(folder.parents[4] / "class/net" / interface / "mtu") if interface else ""}


def doctor(programs, daemon):
    """Returns the findings of hatctl doctor: objects with `verdict`, `check`, `subject` and `text`."""
    done = ended([programs / "hatctl", "doctor", "--config", daemon.config, "--json"])
    try:
        return json.loads(done.stdout)["findings"]
    except (ValueError, KeyError):
        return [{"verdict": "fail", "check": "doctor", "subject": "", "text": done.stderr.strip()}]
