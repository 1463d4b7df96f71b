#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/readers.py: has a language's stock generated code read the requests that hatrpcd's check accepts.

The stock code must read each request as one call of the function that the check found, and the call must end with the
request's last byte. If the stock code rejects the request, the test fails too: the servers of some languages continue
to read after the place where they reject a request.
"""

import argparse
import os
import pathlib
import subprocess
import sys

from peers import Peers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of request_check_differential")
    parser.add_argument("--peers", type=pathlib.Path, required=True, help="folder of the built readers")
    parser.add_argument("--count", type=int, default=20_000, help="number of requests (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random requests (default: %(default)s)")
    parser.add_argument("language", choices=("python", "go", "java", "node", "rust"))
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
    print(f"{options.language}: {reader.stdout.strip()[:2000]}")
    return 0 if reader.returncode == written == 0 and reader.stdout == f"{options.count} requests\n" else 1


if __name__ == "__main__":
    sys.exit(main())
