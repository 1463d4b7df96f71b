#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kv/ycsb/build.py: builds HatKV's binding for YCSB, unless it is up to date.

usage: build.py PROGRAMS FOLDER

PROGRAMS is the folder of hintgen. The build makes the folders classes/, test-classes/ and lib/ in FOLDER, for Java's
class path. Maven downloads packages at the first build; later builds need no network.
"""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
JAVA = HERE / "java"
IDL = HERE.parent / "hatkv.thrift"
MAVEN_SECONDS = 240
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # halves Maven's run time


def class_path(folder):
    return f"{folder}/classes:{folder}/lib/*"


def is_built(folder):
    """Returns True if the last build is newer than all sources."""
    stamp = folder / "built"
    sources = [pathlib.Path(__file__), IDL, JAVA / "pom.xml", *JAVA.rglob("*.java")]
    return stamp.exists() and all(stamp.stat().st_mtime > file.stat().st_mtime for file in sources)


def run(*words):
    words = [str(word) for word in words]
    if shutil.which(words[0]) is None:
        raise SystemExit(f"ycsb: {words[0]} is not installed; ./dev ycsb installs it")
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False,
                              timeout=MAVEN_SECONDS, stdin=subprocess.DEVNULL,
                              env={"MAVEN_OPTS": SHORT_LIVED, **os.environ})
    except subprocess.TimeoutExpired:
        raise SystemExit(f"ycsb: {words[0]}: no end within {MAVEN_SECONDS} s") from None
    if done.returncode != 0:
        raise SystemExit(f"ycsb: {' '.join(words)[:300]}\n{done.stdout}{done.stderr}")


def build(programs, folder):
    if is_built(folder):
        return
    shutil.rmtree(folder, ignore_errors=True)
    stubs = folder / "stubs"
    stubs.mkdir(parents=True)
    plain = folder / "hatkv.thrift"
    run(programs / "hintgen", "--strip", IDL, "-o", plain)
    run("thrift", "--gen", "java:generated_annotations=suppress", "-out", stubs, plain)
    run("mvn", "--batch-mode", "--quiet", "-f", JAVA / "pom.xml", f"-Dbuild.folder={folder}",
        "process-test-classes")
    (folder / "built").touch()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__.split("\n\n")[1])
    build(*(pathlib.Path(word).resolve() for word in sys.argv[1:]))
