#!/usr/bin/env python3
"""bench/engine/run.py: many measurements of engine_bench, in turn: floors, protocols, costs, HiPower.

In each round every contestant has its turn, so that what else the machine does hits all alike. A
table shows the median of the rounds. What fails is recorded with its error, and shown as failed.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import time

import report

# As in engine/protocols.h, in its order.
PROTOCOLS = ("eager", "direct_write_send", "chained_write_send", "direct_write_imm", "write_rndv",
             "read_rndv", "hybrid_eager_rndv", "ar_grpc", "rfp", "farm", "pilaf", "herd", "hipower")
POLLINGS = ("busy", "event")
FLOOR_ROUNDS = 5


def cell(contestant, words, **where):
    return {"contestant": contestant, "words": words, **where, "rounds": []}


def calls(protocol, size, clients, polling):
    return cell(protocol, ["calls", "--protocol", protocol, "--size", str(size), "--clients",
                           str(clients), "--polling", polling],
                bytes=size, clients=clients, polling=polling)


def floors(_):
    return [cell("flag", ["flag"]),
            cell("calls", ["calls", "--protocol", "direct_write_imm", "--size", "64", "--polling",
                           "busy"]),
            cell("oneway", ["oneway", "--size", "64"]),
            cell("memcpy", ["memcpy", "--size", "131072"]),
            cell("oneway lent", ["oneway", "--size", "131072", "--lend"])]


def latency(quick):
    sizes = (64, 131072) if quick else (4, 64, 512, 4096, 32768, 131072, 524288)
    return [calls(protocol, size, 1, polling)
            for polling in POLLINGS for size in sizes for protocol in PROTOCOLS]


def throughput(quick):
    sizes, counts = ((512,), (1, 16)) if quick else ((512, 131072), (1, 4, 16, 64))
    return [calls(protocol, size, clients, polling) for polling in POLLINGS for size in sizes
            for clients in counts for protocol in PROTOCOLS]


def costs(_):
    return [cell("costs", ["costs"])]


def hipower(quick):
    contestants = {"hipower": ["--protocol", "hipower"],
                   "confirm-each": ["--protocol", "direct_write_imm", "--confirm-each"]}
    return [cell(name, ["oneway", *words, "--size", str(size), "--clients", str(clients)],
                 bytes=size, clients=clients)
            for clients in (1, 4) for size in ((64,) if quick else (64, 512, 1024, 4096))
            for name, words in contestants.items()]


PARTS = {"floors": floors, "latency": latency, "throughput": throughput, "costs": costs,
         "hipower": hipower}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Example:\n  bench/engine/run.py --only floors,costs --rounds 9")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"),
                        help="folder of engine_bench (default: %(default)s)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/bench/engine"),
                        help="folder for results.json, results.md and the plots "
                             "(default: %(default)s)")
    parser.add_argument("--seconds", type=float, help="length of one measurement (default: 0.3)")
    parser.add_argument("--rounds", type=int,
                        help=f"default: 3; for the floors at least {FLOOR_ROUNDS}")
    parser.add_argument("--fabric", choices=("loop", "verbs"), default="loop",
                        help="default: %(default)s; verbs wants the devices rxe1 and rxe2")
    parser.add_argument("--only", metavar="NAME,...", default=",".join(PARTS),
                        help="the parts to measure, of %(default)s")
    parser.add_argument("--quick", action="store_true",
                        help="few sizes, one round of 0.05 s: whether all of it works")
    options = parser.parse_args()
    options.only = options.only.split(",")
    if unknown := set(options.only) - set(PARTS):
        parser.error(f"--only: no such part: {', '.join(sorted(unknown))}; there are: "
                     f"{', '.join(PARTS)}")
    if options.seconds is None:
        options.seconds = 0.05 if options.quick else 0.3
    if options.rounds is None:
        options.rounds = 1 if options.quick else 3
    if options.seconds <= 0 or options.rounds < 1:
        parser.error("--seconds: above 0; --rounds: at least 1")
    return options


def rounds_of(part, options):
    return max(options.rounds, FLOOR_ROUNDS) if part == "floors" and not options.quick \
        else options.rounds


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit():
    def git(*words):
        return subprocess.run(["git", *words], cwd=pathlib.Path(__file__).resolve().parent,
                              capture_output=True, text=True, check=True).stdout.strip()
    try:
        return git("rev-parse", "--short", "HEAD") + ("-dirty" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def command_of(words, options):
    return [str(options.bin / "engine_bench"), *words, "--fabric", options.fabric, "--seconds",
            f"{options.seconds:g}"]


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def error_of(result, kind, wall, seconds):
    """engine_bench ends with 0 when its lanes went down: too early, or with nothing counted."""
    if kind not in ("calls", "oneway"):
        return None
    if wall < 1.2 * seconds:  # warm-up and measurement
        return f"ended early, after {wall:.3f} s"
    if not result.get(f"{'calls' if kind == 'calls' else 'messages'}_per_second"):
        return "nothing came through"
    return None


def measure(command, kind, seconds):
    limit = seconds * 10 + 30
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"no end within {limit:g} s"}
    wall = time.monotonic() - begin
    if done.returncode != 0:
        return {"error": f"exit status {done.returncode}: {last_line(done.stderr)}".rstrip(": ")}
    try:
        result = json.loads(done.stdout)
    except ValueError:
        return {"error": f"no line of JSON: {done.stdout[:200]!r}"}
    if error := error_of(result, kind, wall, seconds):
        return {"error": error, "result": result}
    return result


def medians(rounds):
    good = [one for one in rounds if "error" not in one]
    if not good:
        return {}
    numbers = [key for key, value in good[0].items()
               if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return {key: statistics.median(one[key] for one in good) for key in numbers}


def run_part(part, cells, options, progress):
    """All its cells in every round; returns how many measurements failed."""
    failed = 0
    rounds = rounds_of(part, options)
    for number in range(rounds):
        for one in cells:
            progress.step(f"{part}, round {number + 1} of {rounds}: {shlex.join(one['words'])}")
            command = command_of(one["words"], options)
            result = measure(command, one["words"][0], options.seconds)
            one["rounds"].append(result)
            if "error" in result:
                failed += 1
                progress.say(f"failed: {shlex.join(command)}: {result['error']}")
    for one in cells:
        one["command"] = shlex.join(command_of(one.pop("words"), options))
        one["median"] = medians(one["rounds"])
    return failed


def main():
    options = arguments()
    if not (options.bin / "engine_bench").is_file():
        raise SystemExit(f"bench: no {options.bin}/engine_bench: ./dev build makes it")
    options.out.mkdir(parents=True, exist_ok=True)
    parts = {name: make(options.quick) for name, make in PARTS.items() if name in options.only}
    results = {"date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
               "command": shlex.join(sys.orig_argv), "commit": commit(),
               "machine": {"processor": processor(), "cores": os.cpu_count(),
                           "kernel": platform.release(), "load_before": round(os.getloadavg()[0], 2)},
               "fabric": options.fabric, "seconds": options.seconds, "parts": {}}
    progress = report.Progress(sum(len(cells) * rounds_of(name, options)
                                   for name, cells in parts.items()))
    failed = 0
    for name, cells in parts.items():
        failed += run_part(name, cells, options, progress)
        results["parts"][name] = {"rounds": rounds_of(name, options), "cells": cells}
        report.write(results, options.out)  # what is there so far, should a later part be broken off
    progress.end()
    print(f"written: {options.out}/results.md, results.json, plots; {failed} of {progress.total} "
          "measurements failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
