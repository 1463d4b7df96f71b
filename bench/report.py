"""bench/report.py: tables and the plot of what bench/run.py measured."""

import json
import sys


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def size_words(size):
    return f"{size} B" if size < 1024 else f"{size // 1024} KiB"


def clients_words(clients):
    return "1 client" if clients == 1 else f"{clients} clients"


HEADER = ("contestant", "calls/s", "lowest..highest round", "p50 µs", "p99 µs", "CPU µs/call: client",
          "sidecars", "server", "calls/s to direct", "p50 to direct", "calls/s to HAProxy's",
          "p50 to HAProxy's")


def best_haproxy(cell, key, better):
    """The peer is the HAProxy pair at the priority that suits it best."""
    return better(row[key] for name, row in cell["contestants"].items() if name.startswith("HAProxy"))


def rows(cell):
    peer_calls = best_haproxy(cell, "calls_per_s", max)
    peer_p50 = best_haproxy(cell, "p50", min)
    direct = cell["contestants"]["direct"]
    for name, row in cell["contestants"].items():
        spread = row["calls_per_s_rounds"]
        yield (name, f"{row['calls_per_s']:,.0f}", f"{min(spread):,.0f}..{max(spread):,.0f}",
               f"{row['p50']:.1f}", f"{row['p99']:.1f}",
               *(f"{row[key]:.1f}" for key in ("cpu_us", "sidecar_cpu_us", "server_cpu_us")),
               f"{row['calls_per_s'] / direct['calls_per_s']:.2f}",
               f"{row['p50'] / direct['p50']:.2f}",
               f"{row['calls_per_s'] / peer_calls:.2f}", f"{row['p50'] / peer_p50:.2f}")


def title(cell):
    return f"{size_words(cell['bytes'])}, {clients_words(cell['clients'])}"


def cell_text(cell):
    table = [HEADER, *rows(cell)]
    widths = [max(len(row[i]) for row in table) for i in range(len(HEADER))]
    lines = [title(cell)]
    for row in table:
        cells = [row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in range(1, len(row))]
        lines.append("  " + "  ".join(cells))
    return "\n".join(lines) + "\n"


def cell_markdown(cell):
    lines = [f"### {title(cell)}", "", "| " + " | ".join(HEADER) + " |",
             "|---|" + "---:|" * (len(HEADER) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows(cell)]
    return "\n".join(lines) + "\n"


def write(results, folder):
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    machine = results["machine"]
    cores = ("the client's host on one half of them, the server's on the other" if results["split"]
             else "shared by all")
    head = (f"{results['date']}, `{results['command']}`: {machine['processor']}, "
            f"{machine['cores']} cores, {cores}; {results['local']} sockets to the sidecars; Linux {machine['kernel']}; {results['peer']}. "
            f"Median of {results['rounds']} rounds of {results['seconds']} s. "
            "The peer of the two ratios is the better HAProxy pair.\n\n")
    text = head + "\n".join(cell_markdown(cell) for cell in results["cells"])
    (folder / "results.md").write_text(text, encoding="utf-8")
    plot(results["cells"], folder / "results.png")
    print(f"written: {folder}/results.md, results.json, results.png")


def plot(cells, file):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    sizes = sorted({cell["bytes"] for cell in cells})
    figure, axes = pyplot.subplots(len(sizes), 2, figsize=(11, 4 * len(sizes)), squeeze=False)
    for row, size in enumerate(sizes):
        of_size = [cell for cell in cells if cell["bytes"] == size]
        ticks = [str(cell["clients"]) for cell in of_size]
        names = list(of_size[0]["contestants"])
        for column, (key, words) in enumerate((("calls_per_s", "calls/s"), ("p50", "p50, µs"))):
            axis = axes[row][column]
            width = 0.8 / len(names)
            for i, name in enumerate(names):
                places = [x + (i - (len(names) - 1) / 2) * width for x in range(len(ticks))]
                axis.bar(places, [cell["contestants"][name][key] for cell in of_size], width,
                         label=name)
            axis.set_xticks(range(len(ticks)), ticks)
            axis.set_xlabel("clients")
            axis.set_ylabel(words)
            axis.set_title(f"echo of {size_words(size)}: {words}")
            axis.grid(axis="y", alpha=0.3)
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    pyplot.close(figure)
