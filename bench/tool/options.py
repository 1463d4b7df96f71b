# SPDX-License-Identifier: Apache-2.0
"""bench/tool/options.py: parses the command line of `./dev bench run` into settings."""

import argparse
import pathlib
import re
import shlex
import textwrap

from tool import experiment as experiments

QUICK_SECONDS, QUICK_ROUNDS = 0.2, 1
PROGRAMS = pathlib.Path("build/optimized/bin")
OUT = pathlib.Path("build/bench")
PUBLISHED = pathlib.Path("docs/results")


def split_names(words):
    """Splits a command line into the names at its beginning and the options after them."""
    count = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    return words[:count], words[count:]


def numbers(text):
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers, separated by commas") from None


def parser_of(one):
    parser = argparse.ArgumentParser(
        prog=f"./dev bench run {one.name}", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=textwrap.fill(f"{one.title}. {one.question}", 98),
        epilog=f"Example:\n  ./dev bench run {one.name} --quick\n\n"
               "A run without options is the run that docs/results.md shows.",
        allow_abbrev=False)
    add_common(parser.add_argument_group("options of every run"), one)
    if one.options:
        own = parser.add_argument_group("options of this experiment")
        for option in one.options:
            add_own(own, option)
    return parser


def add_common(group, one):
    group.add_argument("--quick", action="store_true",
                       help="measure few points, in one round of 0.2 s, to see that all works")
    group.add_argument("--seconds", type=float,
                       help=f"length of one measurement (default: {one.seconds:g})")
    group.add_argument("--rounds", type=int, help=f"number of rounds (default: {one.rounds})")
    group.add_argument("--plan", action="store_true",
                       help="print what would be measured and for how long; measure nothing")
    group.add_argument("--busy-anyway", action="store_true",
                       help="measure although other processes use this machine; docs/results.md does not "
                       "accept such a result")
    group.add_argument("--peer", action="append", metavar="NAME", default=[],
                       help="measure only this set-up (may be given again)")
    group.add_argument("--bin", type=pathlib.Path, default=PROGRAMS,
                       help="folder of the built programs (default: %(default)s)")
    group.add_argument("--out", type=pathlib.Path, default=OUT,
                       help="folder that gets a folder for each result (default: %(default)s)")


def add_own(group, option):
    words = option.help
    if option.default not in (None, False):
        words += f" (default: {text_of(option.default)}"
        words += f"; --quick: {text_of(option.quick)})" if option.quick is not None else ")"
    if option.default is False:
        group.add_argument(option.flag, action="store_true", help=words)
        return
    kind = numbers if isinstance(option.default, list) else \
        str if option.default is None else type(option.default)
    group.add_argument(option.flag, type=kind, choices=option.choices, help=words)


def text_of(value):
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def settings_of(one, words):
    """Makes the settings of a run from the options of the command line.

    Experiments read the members programs, seconds, rounds, quick, peers, folder (a temporary folder, which the runner
    adds), and the key of each of their options. `./dev bench` itself uses name, options, command and out.
    """
    parser = parser_of(one)
    settings = parser.parse_args(words)
    given = [f"--{key}={value:g}" for key in ("seconds", "rounds")
             if (value := getattr(settings, key)) is not None]
    if settings.seconds is not None and settings.seconds <= 0 or settings.rounds is not None and settings.rounds < 1:
        parser.error("--seconds must be above 0, and --rounds at least 1")
    settings.options = {}
    for option in one.options:
        default = option.default_of(settings.quick)
        value = getattr(settings, option.key)
        if value is None:
            setattr(settings, option.key, default)
        elif value != default:
            settings.options[option.flag] = "" if value is True else text_of(value)
    seconds, rounds = one.usual(settings)
    if settings.seconds is None:
        settings.seconds = min(seconds, QUICK_SECONDS) if settings.quick else seconds
    if settings.rounds is None:
        settings.rounds = QUICK_ROUNDS if settings.quick else rounds
    settings.name = name_of(one, settings)
    settings.programs = settings.bin.resolve()
    settings.out = settings.out / settings.name
    known = one.peers_of(settings)
    if unknown := [name for name in settings.peer if name not in known]:
        parser.error(f"--peer: this experiment has no {unknown[0]!r}; it has: {'; '.join(known)}")
    settings.peers = [name for name in known if not settings.peer or name in settings.peer]
    settings.command = shlex.join([
        "./dev", "bench", "run", one.name,
        *(word for option in settings.options.items() for word in option if word),
        *(["--quick"] if settings.quick else []), *given,
        *(["--busy-anyway"] if settings.busy_anyway else []),
        *(word for name in settings.peer for word in ("--peer", name)),
        *(["--bin", str(settings.bin)] if settings.bin != PROGRAMS else [])])
    return settings


def name_of(one, settings):
    """Returns the result's name, which has the experiment's options, such as echo, echo-local-shm or echo-quick."""
    parts = [one.name]
    for flag, value in settings.options.items():
        parts += [flag.lstrip("-"), re.sub(r"[^A-Za-z0-9.]+", "_", value)]
    return "-".join(filter(None, [*parts, "quick" if settings.quick else ""]))


def chosen(names):
    """Loads the named experiments (["all"]: every one). Raises KeyError with a name that is not known."""
    if names == ["all"]:
        names = experiments.names()
    return [experiments.load(name) for name in names]
