#!/usr/bin/env python3
"""bench/run.py: C++ echo, direct, through two HAProxies and through two hatrpcds, by TCP and RDMA, in turn;
with stock sockets, and with client and server on rings.

Every cell (size, number of clients) is measured in rounds; in each round every contestant has its
turn, so that what else the machine does hits all alike. A cell shows the median of the rounds.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import contestants
import report

SIZES = (64, 128 * 1024)
CLIENTS = (1, 4, 16, 64, 256)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="Example:\n  bench/run.py --bin build/release/bin --quick")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"),
                        help="folder of the built programs (default: %(default)s)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/bench"),
                        help="folder for results.json, results.md and the plot")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nice", type=int, default=0,
                        help="measure both sidecars at this priority too; wants root")
    parser.add_argument("--local", choices=("tcp", "unix"), default="tcp",
                        help="the sockets between the applications and the sidecars of their hosts "
                             "(default: %(default)s); between the hosts it is always TCP")
    parser.add_argument("--split", action="store_true",
                        help="the client's host on one half of the cores, the server's on the other")
    parser.add_argument("--quick", action="store_true", help="64 B, 1 and 16 clients only")
    return parser.parse_args()


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def haproxy_version():
    first = subprocess.run(["haproxy", "-v"], capture_output=True, text=True, check=True).stdout
    return " ".join(first.split()[:3])


def measure(contestant, programs, cores, clients, size, seconds):
    sidecars, server = contestant.cpu_seconds()
    command = ["taskset", "-c", cores.client_host, programs / "echo_client",
               contestant.address, str(clients), str(size), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds * 10 + 30,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: echo_client through {contestant.name}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    calls = result["calls_per_s"] * seconds
    sidecars_then, server_then = contestant.cpu_seconds()
    result["sidecar_cpu_us"] = (sidecars_then - sidecars) * 1e6 / calls
    result["server_cpu_us"] = (server_then - server) * 1e6 / calls
    return result


def median_of(rounds):
    cell = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
    cell["calls_per_s_rounds"] = [one["calls_per_s"] for one in rounds]
    return cell


def main():
    options = arguments()
    sizes, clients = ((64,), (1, 16)) if options.quick else (SIZES, CLIENTS)
    programs = options.bin.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    nices = [0] if options.nice == 0 or os.geteuid() != 0 else [0, options.nice]
    cores = contestants.half_each() if options.split else contestants.all_cores()
    cells = []
    with tempfile.TemporaryDirectory(prefix="hatrpc-bench-") as name:
        folder = pathlib.Path(name)
        running, servers = [], []
        try:
            direct = contestants.echo_server(folder, programs, options.local, cores)
            servers.append(direct.server)
            rings = contestants.echo_server(folder, programs, "shm", cores)
            servers.append(rings.server)
            running += [direct, rings]
            for nice in nices:
                running.append(contestants.haproxy_pair(folder, direct, options.local, nice, cores))
                for end, local in ((direct, options.local), (rings, "shm")):
                    for lanes in contestants.LANES:
                        running.append(contestants.hatrpcd_pair(folder, programs, end, local, nice,
                                                                cores, lanes))
            for size in sizes:
                for count in clients:
                    rounds = {one.name: [] for one in running}
                    for number in range(options.rounds):
                        for one in running:
                            report.progress(f"{size} B, {count} clients, round {number + 1} of "
                                            f"{options.rounds}: {one.name}")
                            rounds[one.name].append(
                                measure(one, programs, cores, count, size, options.seconds))
                    cells.append({"bytes": size, "clients": count,
                                  "contestants": {k: median_of(v) for k, v in rounds.items()}})
                    report.progress("")
                    print(report.cell_text(cells[-1]), flush=True)
        finally:
            for one in running:
                one.stop()
            for server in servers:
                server.terminate()
                server.wait(timeout=10)
    results = {"date": datetime.date.today().isoformat(),
               "command": " ".join(["bench/run.py", *sys.argv[1:]]),
               "machine": {"processor": processor(), "cores": os.cpu_count(),
                           "kernel": platform.release()},
               "local": options.local, "split": options.split, "peer": haproxy_version(),
               "seconds": options.seconds, "rounds": options.rounds, "cells": cells}
    report.write(results, options.out)


if __name__ == "__main__":
    sys.exit(main())
