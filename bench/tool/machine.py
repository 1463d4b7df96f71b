# SPDX-License-Identifier: Apache-2.0
"""bench/tool/machine.py: describes the machine and the commit of a measurement."""

import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NO_CODE = (":(exclude)*_test.cc", ":(exclude)*_fuzz.cc", ":(exclude)*_test.py")  # files that are never measured


def facts(model=None):
    """Returns the facts about this machine, or about the hosts of an experiment.Model."""
    if model is not None:
        return {"modelled": model.hosts}
    return {"processor": processor(), "cores": len(os.sched_getaffinity(0)), "memory_gib": memory_gib(),
            "kernel": platform.release(), "load_before": round(os.getloadavg()[0], 2)}


def kind(machine):
    """Returns the kind of machine as a text. Numbers of two runs can be compared only if their kinds are equal."""
    if "modelled" in machine:
        return f"modelled hosts ({machine['modelled']})"
    return f"{machine['processor']}, {machine['cores']} cores"


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def memory_gib():
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def changes_since(commit, paths, root=ROOT):
    """Returns how many commits after `commit` changed `paths`, and the day of the last one; None if not known."""
    done = subprocess.run(["git", "log", "--format=%cs", f"{commit}..HEAD", "--", *paths, *NO_CODE],
                          cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    days = done.stdout.split()
    return len(days), days[0] if days else ""


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def head():
    """Returns the commit, or "unknown"."""
    try:
        return git("rev-parse", "--short=10", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def commit():
    """Returns the commit, and whether the sources (all files except docs/) differ from the commit."""
    found = head()
    return found, found == "unknown" or bool(git("status", "--porcelain", "--", ".", ":!docs"))
