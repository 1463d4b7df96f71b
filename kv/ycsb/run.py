#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kv/ycsb/run.py: the command `./dev ycsb`: runs a YCSB workload on HatKV through two hatrpcds."""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "kv"), str(ROOT / "bench")]

from tool.experiment import Failed  # noqa: E402
from ycsb import build, setting  # noqa: E402

EXAMPLES = """\
Examples:
  ./dev ycsb                                          workload A, 100,000 records, with YCSB itself
  ./dev ycsb b --driver native --threads 16 --local shm
  ./dev ycsb a --records 1000 --operations 5000 -p dataintegrity=true
"""


def number(text):
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def arguments():
    parser = argparse.ArgumentParser(
        prog="./dev ycsb", description="Starts HatKV and two daemons, loads the records, runs the "
        "workload, prints what carried the calls, and ends everything. The exit status is 1 if any "
        "operation failed.", formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EXAMPLES)
    parser.add_argument("workload", nargs="?", default="a",
                        help="a, b, or a workload file of YCSB (default: %(default)s)")
    parser.add_argument("--records", type=number, default=100_000, metavar="N",
                        help="number of records in the store (default: %(default)s)")
    parser.add_argument("--operations", type=number, default=100_000, metavar="N",
                        help="number of operations of the run; a batch is one (default: %(default)s)")
    parser.add_argument("--threads", type=number, default=4, metavar="N",
                        help="number of clients at the same time (default: %(default)s)")
    parser.add_argument("--driver", choices=("java", "native"), default="java",
                        help="java: YCSB itself, native: hatkv-ycsb (default: %(default)s)")
    parser.add_argument("--local", choices=setting.ways.LOCALS, default="tcp",
                        help="connection between each application and the daemon of its host: sockets, or "
                        "rings of shared memory (default: %(default)s)")
    parser.add_argument("-p", dest="properties", action="append", default=[], metavar="KEY=VALUE",
                        help="a further property of the workload (may be given again)")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/optimized/bin",
                        help="folder of the built programs")
    return parser.parse_args()


def show_calls(calls):
    """Prints how many calls of each function each protocol (request / reply) has carried, as host-a's daemon counted."""
    print(f"\n{'function':10} {'calls':>9}  carried by")
    for function in sorted({function for function, _ in calls}):
        carried = {protocol: count for (one, protocol), count in calls.items()
                   if one == function and count}
        if carried:
            words = ", ".join(f"{protocol} {count}" for protocol, count in sorted(carried.items()))
            print(f"{function:10} {sum(carried.values()):9}  {words}")


def main():
    options = arguments()
    programs = options.bin.resolve()
    binding = programs.parent / "ycsb"
    try:
        file = setting.workload(options.workload)
        if options.driver == "java":
            build.build(programs, binding)
        properties = [file, f"recordcount={options.records}",
                      f"operationcount={options.operations}", f"threadcount={options.threads}",
                      *options.properties]
        with setting.start(programs, binding, options.local) as place:
            for phase in ("load", "run"):
                before = place.calls()
                print(f"\n--- {options.driver} driver, {phase}: workload {file.name}, "
                      f"{options.threads} threads, {options.local} -> hatrpcd -> hatrpcd -> HatKV",
                      flush=True)
                place.drive(options.driver, phase, properties, show=True)
                show_calls(place.calls() - before)
    except Failed as failure:
        print(f"ycsb: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
