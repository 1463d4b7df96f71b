# SPDX-License-Identifier: Apache-2.0
"""bench/tool/words.py: formats points, numbers and facts of a run as text for readers."""

import re


def size(count):
    for unit, bytes_of in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= bytes_of and count % bytes_of == 0:
            return f"{count // bytes_of} {unit}"
    return f"{count:,} B"


def point_words(point):
    """Returns a point in words, such as `64 B, 16 clients, polling busy`."""
    return ", ".join(part_words(key, value) for key, value in point.items())


def part_words(key, value):
    if is_size(key):
        what = key.removesuffix("bytes").replace("_", " ").strip()
        return f"{size(value)} {what}".strip()
    if isinstance(value, int) and key.endswith("s"):
        return f"{value:,} {key.replace('_', ' ')[:-1 if value == 1 else None]}"
    return f"{key.replace('_', ' ')} {value}"


def head_words(key, value):
    """Returns the heading of a column."""
    return value if isinstance(value, str) else part_words(key, value)


def is_size(key):
    return key == "bytes" or key.endswith("_bytes")


def axis_words(key):
    return key.removesuffix("bytes").replace("_", " ") + "size, bytes" if is_size(key) \
        else key.replace("_", " ")


def tick_words(key, value):
    return size(value) if is_size(key) else f"{value:,}" if isinstance(value, int) else str(value)


def short_words(key, value):
    """Returns the label of a tick on an axis. Leaves out the unit B, which is in the axis's title."""
    return size(value).replace(" B", "").replace(" Ki", "K").replace(" Mi", "M").rstrip("B") \
        if is_size(key) else tick_words(key, value)


def number(value):
    """Formats a number with three significant digits (two below 0.1), but with all digits before the point."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def unit_words(key, unit):
    """Returns a value's description and unit, such as `p50, µs`, or only the unit if both are equal."""
    words = unit.words or key.removesuffix("_us").replace("_", " ")
    return words if words == unit.label else f"{words}, {unit.label}"


def option_words(options):
    """Formats options as on the command line."""
    return " ".join(word for option in options.items() for word in option if word)


def error_words(row):
    where = f" at {point_words(row['point'])}" if row["point"] else ""
    return f"{row['peer']}{where}: {row['error']}"


def machine_words(machine):
    if "modelled" in machine:
        return f"modelled hosts: {machine['modelled']}"
    return (f"{machine['processor']}, {machine['cores']} cores, Linux {machine['kernel']}; load average before the run "
            f"{machine['load_before']}")


def measured_words(facts):
    return "Computed" if "modelled" in facts["machine"] else "Measured"


def commit_words(facts):
    return facts["commit"] + (" with changes that are in no commit" if facts["changed"] else "")


def slug(text):
    """Returns the text as a part of a file's name, of lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def how_words(facts):
    """Returns words about the number and the length of the rounds."""
    if "modelled" in facts["machine"]:
        return f"for {facts['seconds']:g} s of virtual time"
    rounds = "1 round" if facts["rounds"] == 1 else f"medians of {facts['rounds']} rounds"
    return f"{rounds} of {facts['seconds']:g} s"
