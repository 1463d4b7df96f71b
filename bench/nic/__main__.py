# SPDX-License-Identifier: Apache-2.0
"""bench/nic: the command `./dev nic`: serve on one host, measure on the other."""

import argparse
import pathlib
import re
import shlex
import signal
import sys
import urllib.request

from nic import measure, serve
from tool.experiment import Failed

PORT = 7480
EXAMPLES = """\
Examples, for a server's host with the address 10.0.0.2:
  ./dev nic serve 10.0.0.2                              on this host, first
  ./dev nic measure 10.0.0.2                            on the other host
  taskset -c 8-15 ./dev nic measure 10.0.0.2            on processors near the card
  ./dev nic measure 10.0.0.2 --device mlx5_1 --seconds 3 --rounds 5
"""
PAYLOADS_MAX, PAYLOAD_MAX, CLIENTS_MAX = 8, 16 << 20, 256


def address(text):
    """Returns HOST:PORT. The port is PORT if the text has none; an IPv6 address is in brackets."""
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.%]+\]|[^:\s]+)(?::(\d{1,5}))?", text)
    if found is None or not 0 < int(found[2] or PORT) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r}: expected HOST, HOST:PORT or [IPv6]:PORT")
    return f"{found[1]}:{found[2] or PORT}"


def payloads(text):
    try:
        sizes = sorted({int(word) for word in text.split(",")})
    except ValueError:
        sizes = []
    if not 0 < len(sizes) <= PAYLOADS_MAX or not 0 < sizes[0] <= sizes[-1] <= PAYLOAD_MAX:
        raise argparse.ArgumentTypeError(f"{text!r}: expected 1 to {PAYLOADS_MAX} sizes in bytes, separated by commas, "
                                         f"each of 1 to {PAYLOAD_MAX}")
    return sizes


def number(kind, least, most):
    """Returns a function that reads a number from `least` to `most`."""
    def read(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a number from {least:g} to {most:g}")
        return value
    return read


def add_common(parser):
    parser.add_argument("address", type=address, metavar="ADDRESS",
                        help=f"HOST or HOST:PORT of the server's host, as the other host reaches it (port: {PORT})")
    parser.add_argument("--device", metavar="NAME", help="RDMA device of this host (default: the first usable one)")
    parser.add_argument("--fabric", choices=("verbs", "loop"), default="verbs",
                        help="verbs: an RDMA device; loop: memory that two hatrpcds of one host share, to try the "
                        "command without a device (default: %(default)s)")
    parser.add_argument("--payloads", type=payloads, default=[64, 4096, 65536], metavar="BYTES,...",
                        help="sizes of request and reply; the same on both hosts (default: 64,4096,65536)")
    parser.add_argument("--clients", type=number(int, 2, CLIENTS_MAX), default=8, metavar="N",
                        help="number of clients for throughput; the same on both hosts (default: %(default)s)")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/optimized/bin"),
                        help="folder of the built programs (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="read the options, and do nothing")


def parser_of():
    parser = argparse.ArgumentParser(
        prog="./dev nic", formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EXAMPLES, allow_abbrev=False,
        description="Measures hatrpc between two hosts with RDMA devices: every protocol, TCP, and the planner.")
    commands = parser.add_subparsers(dest="command_name", required=True, metavar="COMMAND")
    more = {"formatter_class": argparse.RawDescriptionHelpFormatter, "epilog": EXAMPLES, "allow_abbrev": False}
    serving = commands.add_parser("serve", help="run the server's host: an echo server and its hatrpcd", description=(
        "Runs an echo server and a hatrpcd until Ctrl-C.\nThe hatrpcd listens at ADDRESS without TLS and without a "
        "password: use a trusted network."), **more)
    add_common(serving)
    serving.set_defaults(run=serve.serve)
    measuring = commands.add_parser("measure", help="measure calls from this host to the server's host", description=(
        "Measures calls to the host on which `./dev nic serve ADDRESS` runs, and packs an archive with the\n"
        "profile, all values and a report. By default this takes at least five minutes."), **more)
    add_common(measuring)
    measuring.add_argument("--seconds", type=number(float, 0.1, 3600), default=1.0, metavar="S",
                           help="length of one measurement (default: %(default)g)")
    measuring.add_argument("--rounds", type=number(int, 1, 100), default=3, metavar="N",
                           help="how often each measurement is repeated (default: %(default)s)")
    measuring.add_argument("--output", type=pathlib.Path, default=pathlib.Path("build/nic"), metavar="FOLDER",
                           help="folder that gets the archive (default: %(default)s)")
    measuring.add_argument("--no-plots", dest="plots", action="store_false",
                           help="write the report without plots, which need matplotlib")
    measuring.set_defaults(run=measure.measure)
    return parser


def main(words):
    parser = parser_of()
    options = parser.parse_args(words)
    options.command = shlex.join(["./dev", "nic", *words])
    if options.device and options.fabric != "verbs":
        parser.error("--device names an RDMA device, which only --fabric verbs uses")
    try:
        return 0 if options.check else options.run(options)
    except Failed as failure:
        print(f"nic: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    # Make each of these signals raise KeyboardInterrupt, so that a run keeps its results and ends its processes.
    for received in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(received, signal.default_int_handler)
    # All addresses that this program asks over HTTP are on this host, so a proxy of the environment must not be used.
    urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))
    sys.exit(main(sys.argv[1:]))
