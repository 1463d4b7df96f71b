#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/versions/build_previous.py: builds the programs of the previous version, which tests/versions/previous names.

The sources come from this repository's git history, and are put into build/previous/source. The programs are in the
folder build/release/bin there. A second run builds nothing. The compiler has a low priority, because tests run at
the same time. `./dev bench run versions` builds versions with build().
"""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PIN = HERE / "previous"
FOLDER = ROOT / "build" / "previous"
TARGETS = ("hatrpcd", "hatctl", "hintgen", "hatrpc_preload")


class Failed(Exception):
    """A version cannot be built; the message says why."""


def revision(text):
    """Returns the revision in the text of the file `previous`: its only line that is not empty and not a comment."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if len(lines) != 1:
        raise Failed(f"{PIN} has {len(lines)} lines that are not comments; expected one: a tag or a commit")
    return lines[0]


def pinned():
    """Returns the revision that is the previous version."""
    return revision(PIN.read_text(encoding="utf-8"))


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)


def commit_of(name):
    """Returns the id of the commit of a tag, a commit, or "previous". Fails if this tree does not have it."""
    if name == "previous":
        name = pinned()
    found = git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if found.returncode == 0:
        return found.stdout.strip()
    shallow = git("rev-parse", "--is-shallow-repository")
    if shallow.returncode != 0:
        reason = f"git cannot read a repository at {ROOT} ({shallow.stderr.strip()}); run the tests in a clone of the repository"
    elif shallow.stdout.strip() == "true":
        reason = "this clone is shallow; run `git fetch --unshallow --tags`"
    else:
        reason = f"this clone does not have it; run `git fetch --tags`, or correct {PIN}"
    raise Failed(f"the version {name} cannot be built: {reason}")


def unpack(commit, folder):
    """Writes the sources of the commit to FOLDER/source, unless they are there."""
    mark = folder / "commit"
    if mark.exists() and mark.read_text(encoding="ascii") == commit:
        return
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "source").mkdir(parents=True)
    with subprocess.Popen(["git", "-C", ROOT, "archive", commit], stdout=subprocess.PIPE) as archive:
        unpacked = subprocess.run(["tar", "-x", "-C", folder / "source"], stdin=archive.stdout, check=False)
    if archive.returncode != 0 or unpacked.returncode != 0:
        raise Failed(f"`git archive {commit}` failed with status {archive.returncode}, tar with {unpacked.returncode}")
    mark.write_text(commit, encoding="ascii")


def run(words, where):
    if subprocess.run(words, cwd=where, check=False).returncode != 0:
        raise Failed(f"`{' '.join(words)}` failed in {where}")


def build(name, folder, preset, targets, *options):
    """Builds a version in FOLDER/source, with CMake's `preset` and `options`. Returns the folder of its programs."""
    unpack(commit_of(name), folder)
    source = folder / "source"
    # A newer compiler may warn of the older sources, so warnings are not errors here.
    run(["cmake", "--preset", preset, "-DHAT_WERROR=OFF", *options], source)
    run(["cmake", "--build", f"build/{preset}", "--target", *targets, "-j", str(len(os.sched_getaffinity(0)))], source)
    return source / "build" / preset / "bin"


def main():
    os.nice(10)
    try:
        # Nothing is measured with these programs, so they are not optimized, which would be half of the work.
        build("previous", FOLDER, "release", TARGETS, "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0")
    except Failed as failure:
        sys.exit(f"versions: {failure}")


if __name__ == "__main__":
    main()
