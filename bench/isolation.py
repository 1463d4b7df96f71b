#!/usr/bin/env python3
"""bench/isolation.py: does load on a throughput function slow a latency function of the same service?

One client calls echo(), 64 B, while others load bulk(); through one pair of hatrpcds whose manifest
gives the functions different goals, and through one that gives both the same. Client and server on rings. The
paper's section 5.3 does this with two machines; here all processes share this machine's cores, so what
the load takes of them is part of the result.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import contestants

LATENCY, THROUGHPUT = {"perf_goal": "latency"}, {"perf_goal": "throughput"}
PAIRS = (contestants.Lanes("echo latency, bulk throughput", "auto", LATENCY, THROUGHPUT),
         contestants.Lanes("both latency", "auto", LATENCY, LATENCY),
         contestants.Lanes("both throughput", "auto", THROUGHPUT, THROUGHPUT))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--load", default="4x64", help="clients x bytes of the load (default: %(default)s)")
    return parser.parse_args()


def start(programs, address, clients, size, seconds, function):
    return subprocess.Popen([programs / "echo_client", address, str(clients), str(size),
                             str(seconds), function], stdout=subprocess.PIPE, text=True)


def result(client):
    out = client.communicate()[0]
    if client.returncode != 0:
        raise SystemExit("isolation: a client failed")
    return json.loads(out)


def measure(programs, pair, options):
    """echo() alone, and with the load beside it."""
    clients, size = map(int, options.load.split("x"))
    alone = result(start(programs, pair.address, 1, 64, options.seconds, "echo"))
    load = start(programs, pair.address, clients, size, options.seconds + 1, "bulk")
    beside = result(start(programs, pair.address, 1, 64, options.seconds, "echo"))
    return alone, beside, result(load)


def main():
    options = arguments()
    programs = options.bin.resolve()
    cores = contestants.all_cores()
    with tempfile.TemporaryDirectory(prefix="hatrpc-bench-") as name:
        folder = pathlib.Path(name)
        direct = contestants.echo_server(folder, programs, "shm", cores)
        running = []
        try:
            for lanes in PAIRS:
                running.append(contestants.hatrpcd_pair(folder, programs, direct, "shm", 0, cores, lanes))
            rounds = {pair.name: [] for pair in running}
            for _ in range(options.rounds):
                for pair in running:
                    rounds[pair.name].append(measure(programs, pair, options))
        finally:
            for pair in running:
                pair.stop()
            direct.server.terminate()
            direct.server.wait(timeout=10)
    print(f"{os.cpu_count()} cores, load {options.load}, medians of {options.rounds} rounds\n\n"
          "| hints | echo alone: p50 µs | p99 µs | beside the load: p50 µs | p99 µs | p99 to alone | bulk calls/s |\n"
          "|---|---:|---:|---:|---:|---:|---:|")
    for name, rows in rounds.items():
        alone, beside, load = ([row[i] for row in rows] for i in range(3))
        middle = lambda part, key: statistics.median(row[key] for row in part)
        ratio = middle(beside, "p99") / middle(alone, "p99")
        print(f"| {name} | {middle(alone, 'p50'):.1f} | {middle(alone, 'p99'):.1f} | "
              f"{middle(beside, 'p50'):.1f} | {middle(beside, 'p99'):.1f} | {ratio:.2f} | "
              f"{middle(load, 'calls_per_s'):,.0f} |")


if __name__ == "__main__":
    main()
