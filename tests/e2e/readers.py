#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/readers.py: requests that hatrpcd's check passes, read by a language's stock generated code.

Each request must be one call of the function that the check said, or none: then the stock code refuses it. Nearly all
must be calls, since nearly all come from stock C++ code.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

from peers import Peers

CALLS_AT_LEAST = 0.7  # Python's reader knows no function by the name in the binary protocol without a version


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of request_check_differential")
    parser.add_argument("--peers", type=pathlib.Path, required=True, help="folder of the built peers")
    parser.add_argument("--count", type=int, default=20_000, help="requests (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the requests (default: %(default)s)")
    parser.add_argument("language", choices=("python", "go", "java", "node"))
    options = parser.parse_args()
    command, environment = Peers(options.peers).command(options.language, "reader")
    writer = subprocess.Popen([options.bin / "request_check_differential", "--write", str(options.count),
                               str(options.seed)], stdout=subprocess.PIPE)
    try:
        reader = subprocess.run(command, stdin=writer.stdout, stdout=subprocess.PIPE, text=True, check=False,
                                env={**os.environ, **environment})
    finally:
        writer.stdout.close()
        written = writer.wait()
    print(f"{options.language}: {reader.stdout.strip()[-2000:]}")
    found = re.fullmatch(r"(\d+) requests, (\d+) calls\n", reader.stdout)
    if reader.returncode != 0 or written != 0 or not found:
        return 1
    count, calls = map(int, found.groups())
    return 0 if count == options.count and calls >= CALLS_AT_LEAST * count else 1


if __name__ == "__main__":
    sys.exit(main())
