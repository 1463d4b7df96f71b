#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/clang_tidy.py: runs clang-tidy 16 on every .cc file of this project, or on the named files.

usage: clang_tidy.py [-j N] [FILE...]

Configures build/tidy with clang for all components, because g++'s flags hide std::expected from clang-tidy, and
builds there only the sources that other programs generate. A file that has passed is not checked again until the
file, a header of ours that it includes, .clang-tidy, or the command that compiles it changes; build/tidy/passed
records the files that passed. The exit status is 1 if clang-tidy finds something.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/tidy"
PASSED = BUILD / "passed"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
WRITTEN_BY_PROGRAMS = re.compile(r"^/.*\.(?:cc|cpp|h|hh)$", re.MULTILINE)


def run(*words):
    return subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def configure():
    # No unity build, because clang-tidy needs a compile command for each file. No precompiled headers, because
    # clang-tidy cannot read those of g++.
    run("cmake", "-S", ".", "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_C_COMPILER=clang-16", "-DCMAKE_CXX_COMPILER=clang++-16", "-DCMAKE_UNITY_BUILD=OFF",
        "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    outputs = run("ninja", "-C", BUILD, "-t", "targets", "rule", "CUSTOM_COMMAND")
    run("ninja", "-C", BUILD, *WRITTEN_BY_PROGRAMS.findall(outputs))


@functools.lru_cache(maxsize=None)
def headers_and_digest(path):
    """Returns this project's headers that a file includes, and a digest of the file's bytes."""
    content = path.read_bytes()
    named = [ROOT / name for name in INCLUDE.findall(content.decode())]
    return [header for header in named if header.is_file()], hashlib.sha256(content).digest()


def state_of(path, command, version):
    """Returns a digest of everything that clang-tidy's result for a file depends on."""
    seen, ahead = {}, [path]
    while ahead:
        one = ahead.pop()
        if one not in seen:
            headers, seen[one] = headers_and_digest(one)
            ahead += headers
    whole = hashlib.sha256((version + command).encode() + (ROOT / ".clang-tidy").read_bytes())
    for one in sorted(seen):
        whole.update(bytes(one.relative_to(ROOT)) + seen[one])
    return whole.hexdigest()


def check(path, command, version):
    """Runs clang-tidy on a file; returns clang-tidy's output, or None if the file passes or has passed before."""
    passed = PASSED / state_of(path, command, version)
    if passed.exists():
        return None
    done = subprocess.run(["clang-tidy-16", "-p", BUILD, "--quiet", path], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        passed.touch()
        return None
    return done.stdout or f"{path}: clang-tidy-16 ended with status {done.returncode}: {done.stderr}\n"


def wanted_files(names, commands):
    ours = {ROOT / name for name in run("git", "ls-files", "*.cc").split()}
    if not names:
        return sorted(ours & commands.keys())
    files = [pathlib.Path(name).resolve() for name in names]
    for file in files:
        if file not in commands:
            sys.exit(f"clang_tidy: {file}: no target compiles it")
    return files


def main():
    parser = argparse.ArgumentParser(usage="%(prog)s [-j N] [FILE...]")
    parser.add_argument("-j", type=int, default=len(os.sched_getaffinity(0)), help="files to check in parallel")
    parser.add_argument("files", nargs="*")
    asked = parser.parse_args()
    run("clang-tidy-16", "--verify-config")  # otherwise a mistake in .clang-tidy would silently turn checks off
    configure()
    PASSED.mkdir(exist_ok=True)
    commands = {pathlib.Path(entry["file"]): entry["command"]
                for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))}
    version = run("clang-tidy-16", "--version")
    files = wanted_files(asked.files, commands)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(asked.j) as pool:
        for found in pool.map(lambda path: check(path, commands[path], version), files):
            if found is not None:
                failed += 1
                print(found, end="", flush=True)
    print(f"clang-tidy: {len(files)} files, {failed} with findings")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
