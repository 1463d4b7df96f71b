"""bench/engine/report.py: tables and plots of what bench/engine/run.py measured."""

import json
import statistics
import sys

OPERATIONS = ("put", "get", "compare_swap", "fetch_add", "message", "message_with_wake_ups",
              "register_1_mib", "register_16_mib")
CPU_WORDS = ("Who polls busily uses a core whether anything comes or not: there, CPU is little more "
             "than the time a call or message takes. The server's or receiver's CPU is that of its "
             "whole life, its start too: short measurements make it look large.")


class Progress:
    """How far it is, on stderr: one line that changes on a terminal, else a line now and then."""

    def __init__(self, total):
        self.total = total
        self.done = 0
        self.terminal = sys.stderr.isatty()

    def step(self, text):
        self.done += 1
        line = f"{self.done} of {self.total}: {text}"
        if self.terminal:
            sys.stderr.write(f"\r\033[K{line[:110]}")
            sys.stderr.flush()
        elif (self.done - 1) % max(1, self.total // 20) == 0:
            self.say(line)

    def say(self, text):
        self.end()
        print(text, file=sys.stderr, flush=True)

    def end(self):
        if self.terminal:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def size_words(size):
    return f"{size} B" if size < 1024 else f"{size // 1024} KiB"


def clients_words(clients):
    return "1 client" if clients == 1 else f"{clients} clients"


def different(cells, key):
    """The values of a key, in the order of their first coming."""
    return list(dict.fromkeys(cell[key] for cell in cells))


def where(cells, **wanted):
    return [cell for cell in cells if all(cell[key] == value for key, value in wanted.items())]


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def failures(cell):
    return [one["error"] for one in cell["rounds"] if "error" in one]


def shown(cell, key, unit=""):
    """The median, and how many of its rounds failed."""
    failed = len(failures(cell))
    if failed == len(cell["rounds"]):
        return "failed"
    text = number(cell["median"][key]) + unit
    return f"{text} ({failed} of {len(cell['rounds'])} failed)" if failed else text


def ratios(over, over_key, under, under_key):
    """Of each round in which both worked: what the machine did meanwhile hit both."""
    return [a[over_key] / b[under_key] for a, b in zip(over["rounds"], under["rounds"])
            if "error" not in a and "error" not in b and b[under_key]]


def ratio(over, under, key):
    found = ratios(over, key, under, key)
    return f"{statistics.median(found):.2f}" if found else "failed"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def by_protocol(cells, columns, words, key):
    """Rows: protocols; columns: the values of the keys in `columns`, in the order of the cells."""
    places = list(dict.fromkeys(tuple(cell[column] for column in columns) for cell in cells))
    header = ["protocol"] + [words(*place) for place in places]
    rows = []
    for name in different(cells, "contestant"):
        row = where(cells, contestant=name)
        rows.append([name] + [shown(where(row, **dict(zip(columns, place)))[0], key)
                              for place in places])
    return table(header, rows)


def floor_row(words, wanted, at_most, rounds, of_what):
    if not rounds:
        return [words, "failed", "", wanted, "failed", of_what]
    value, bound = statistics.median(rounds), float(wanted.split()[-1])
    kept = value <= bound if at_most else value >= bound
    return [words, f"{value:.2f}", f"{min(rounds):.2f}..{max(rounds):.2f}", wanted,
            "yes" if kept else "no", of_what]


def floors_part(cells, _):
    of = {cell["contestant"]: cell for cell in cells}
    flag, calls, oneway = of["flag"], of["calls"], of["oneway"]
    memcpy, lent = of["memcpy"], of["oneway lent"]
    rate, gigabytes = "messages_per_second", "gigabytes_per_second"
    rows = [
        floor_row("p50 of a 64 B call to p50 of a flag", "at most 2", True,
                  ratios(calls, "p50_us", flag, "p50_us"),
                  f"{shown(calls, 'p50_us', ' µs')} to {shown(flag, 'p50_us', ' µs')}"),
        floor_row("64 B messages one way, millions per second", "at least 2", False,
                  [one[rate] / 1e6 for one in oneway["rounds"] if "error" not in one],
                  shown(oneway, rate, " per second")),
        floor_row("128 KiB one way, lent, to memcpy's bandwidth", "at least 0.5", False,
                  ratios(lent, gigabytes, memcpy, gigabytes),
                  f"{shown(lent, gigabytes, ' GB/s')} to {shown(memcpy, gigabytes, ' GB/s')}")]
    return ("## Floors: what the machine can do at best\n\n"
            "Medians of the rounds' own ratios; the lowest and the highest beside them.\n\n"
            + table(("", "measured", "lowest..highest round", "wanted", "kept", "of what"), rows))


def latency_part(cells, folder):
    text = ("## Latency of every protocol (HatRPC, Figure 4)\n\n"
            "One client, one call at a time: p50 in µs.\n")
    for polling in different(cells, "polling"):
        some = where(cells, polling=polling)
        file = f"latency_{polling}.png"
        plot(some, folder / file, "bytes", "p50_us", "size of request and reply", "p50, µs",
             f"p50 of a call, one client, {polling} polling", size_words)
        text += (f"\n### {polling} polling\n\n" + by_protocol(some, ("bytes",), size_words, "p50_us")
                 + f"\n![p50, {polling} polling]({file})\n")
    return text


def throughput_part(cells, folder):
    text = ("## Throughput of every protocol (HatRPC, Figure 5)\n\n"
            f"One call at a time for each client. {CPU_WORDS}\n")
    for polling in different(cells, "polling"):
        some = where(cells, polling=polling)
        text += f"\n### {polling} polling\n"
        for key, title in (("calls_per_second", "Calls per second"),
                           ("client_cpu_us_per_call", "Client's CPU, µs per call"),
                           ("server_cpu_us_per_call", "Server's CPU, µs per call")):
            text += f"\n{title}:\n\n" + by_protocol(
                some, ("bytes", "clients"),
                lambda size, clients: f"{size_words(size)}, {clients_words(clients)}", key)
        for size in different(some, "bytes"):
            file = f"throughput_{size}_{polling}.png"
            title = f"calls of {size_words(size)}, {polling} polling"
            plot(where(some, bytes=size), folder / file, "clients", "calls_per_second", "clients",
                 "calls/s", title, str)
            text += f"\n![{title}]({file})\n"
    return text


def costs_part(cells, _):
    return ("## Costs of the fabric's operations\n\n"
            "A message is there and back; all in µs.\n\n"
            + table(("operation", "µs"), [(name, shown(cells[0], f"{name}_us"))
                                          for name in OPERATIONS]))


def hipower_part(cells, _):
    keys = ("messages_per_second", "client_cpu_us_per_message", "server_cpu_us_per_message")
    header = ["", "hipower: messages/s", "confirm-each: messages/s", "ratio",
              "hipower: sender's CPU µs", "confirm-each: sender's CPU µs", "ratio",
              "hipower: receiver's CPU µs", "confirm-each: receiver's CPU µs", "ratio"]
    rows = []
    for clients in different(cells, "clients"):
        for size in different(cells, "bytes"):
            here = where(cells, clients=clients, bytes=size)
            mine = where(here, contestant="hipower")[0]
            peer = where(here, contestant="confirm-each")[0]
            row = [("one to one" if clients == 1 else f"{clients} lanes") + f", {size_words(size)}"]
            for key in keys:
                row += [shown(mine, key), shown(peer, key), ratio(mine, peer, key)]
            rows.append(row)
    return ("## HiPower against a confirmation for each message (NPC'19, section 4)\n\n"
            "One way; CPU per message. Four lanes into one receiver stand in for gather and "
            "broadcast. Busy polling. Ratios: hipower / confirm-each, medians of the "
            f"rounds' own. {CPU_WORDS}\n\n"
            + table(header, rows))


PARTS = {"floors": floors_part, "latency": latency_part, "throughput": throughput_part,
         "costs": costs_part, "hipower": hipower_part}


def failures_text(parts):
    lines = []
    for part in parts.values():
        for cell in part["cells"]:
            if errors := failures(cell):
                lines.append(f"- `{cell['command']}`: {len(errors)} of {len(cell['rounds'])} rounds: "
                             + "; ".join(dict.fromkeys(errors)))
    return "## Failures\n\n" + ("\n".join(lines) if lines else "None.") + "\n"


def head(results):
    machine = results["machine"]
    rounds = ", ".join(f"{name} {part['rounds']}" for name, part in results["parts"].items())
    return (f"`{results['command']}`\n\n"
            f"{results['date']}; {machine['processor']}, {machine['cores']} cores, load before "
            f"{machine['load_before']}; Linux {machine['kernel']}; commit {results['commit']}; "
            f"fabric {results['fabric']}. Medians of rounds of {results['seconds']:g} s; "
            f"rounds: {rounds}.\n\n"
            "These are numbers of one machine with few cores, on which client and server run side by "
            "side: ratios to look at, no absolute speeds.\n")


def write(results, folder):
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    texts = [PARTS[name](part["cells"], folder) for name, part in results["parts"].items()]
    text = "\n".join([head(results), *texts, failures_text(results["parts"])])
    (folder / "results.md").write_text(text, encoding="utf-8")


def plot(cells, file, x_key, y_key, x_words, y_words, title, tick_words):
    """One line for each protocol, both axes logarithmic; what failed leaves a gap."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    figure, axis = pyplot.subplots(figsize=(10, 5.5))
    colours, markers = pyplot.get_cmap("tab20").colors, "osD^v<>pPXh*d"
    for i, name in enumerate(different(cells, "contestant")):
        line = where(cells, contestant=name)
        axis.plot([cell[x_key] for cell in line],
                  [cell["median"].get(y_key, float("nan")) for cell in line], label=name,
                  color=colours[i * 2 % 20 + i * 2 // 20], marker=markers[i % len(markers)],
                  markersize=5, linewidth=1.3)
    ticks = different(cells, x_key)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(ticker.LogLocator(base=10, subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.4g}"
                                                        if value < 1000 else f"{value:,.0f}"))
    axis.yaxis.set_minor_formatter(ticker.NullFormatter())
    axis.set_xticks(ticks, [tick_words(tick) for tick in ticks])
    axis.set_xlabel(x_words)
    axis.set_ylabel(y_words)
    axis.set_title(title)
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    pyplot.close(figure)
