#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kv/ycsb/run.py: `./dev ycsb`: a YCSB workload on HatKV, through two daemons, in one command."""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "kv"), str(ROOT / "bench")]

from tool.experiment import Failed  # noqa: E402
from ycsb import build, setting  # noqa: E402

EXAMPLES = """\
Examples:
  ./dev ycsb                                          workload A, 100,000 records, by YCSB itself
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
        "workload, says what the daemons carried, and ends everything. Exit status 1 where any "
        "operation failed.", formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EXAMPLES)
    parser.add_argument("workload", nargs="?", default="a",
                        help="a, b, or a workload file of YCSB's (default: %(default)s)")
    parser.add_argument("--records", type=number, default=100_000, metavar="N",
                        help="how many there are (default: %(default)s)")
    parser.add_argument("--operations", type=number, default=100_000, metavar="N",
                        help="of the run, a batch being one (default: %(default)s)")
    parser.add_argument("--threads", type=number, default=4, metavar="N",
                        help="clients at once (default: %(default)s)")
    parser.add_argument("--driver", choices=("java", "native"), default="java",
                        help="YCSB itself, or hatkv-ycsb (default: %(default)s)")
    parser.add_argument("--local", choices=setting.ways.LOCALS, default="tcp",
                        help="between the applications and the daemons of their hosts: sockets, or "
                        "rings of shared memory (default: %(default)s)")
    parser.add_argument("-p", dest="properties", action="append", default=[], metavar="KEY=VALUE",
                        help="one more property of the workload; may be given again")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/optimized/bin",
                        help="folder of the built programs")
    return parser.parse_args()


def show_calls(calls):
    """What carried each function's calls, as host-a's daemon counted them."""
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
