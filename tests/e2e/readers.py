#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/readers.py: lets Thrift's generated code of one language read the requests that hatrpcd's check accepts.

hatrpcd checks the requests of restricted peers (daemon/thrift/request_check.h). The generated code must read each
accepted request as one call of the function that the check found, up to the request's last byte. The test also fails if
the generated code rejects a request, because some servers continue to read after the bytes that they reject.
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
