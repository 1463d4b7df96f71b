# SPDX-License-Identifier: Apache-2.0
"""bench/nic/report.py: writes the report of a measurement on two hosts, and packs it with all values."""

import tarfile

from nic.services import MEASURED, PEERS, PLANNED
from tool import clock, noise, tables, words

# Facts of host.facts() for the table of the hosts, by their words.
FACTS = {"host": "name", "processor": "processor", "cores": "cores that the programs may use",
         "numa_nodes": "NUMA nodes", "memory_gib": "memory, GiB", "governor": "frequency governor", "kernel": "kernel",
         "libibverbs": "libibverbs1", "fabric": "fabric of hatrpcd", "workers": "workers of hatrpcd",
         "load_before": "load average before"}
DEVICE_FACTS = {"type": "type", "firmware": "firmware", "board": "board", "driver": "driver", "pci_id": "PCI id",
                "pci_link": "PCI link", "numa_node": "NUMA node"}
EMULATED = ("**RDMA between these hosts is emulated, or is shared memory, and not a network card.** The numbers show "
            "that everything works. They say nothing about the speed of RDMA.")


def pack(folder, found, experiment, gathered, with_plots):
    """Writes all files of the report into `folder`, and an archive of the folder beside it; returns its path."""
    plots = draw(folder / "plots", found, experiment) if with_plots else {}
    (folder / "report.md").write_text(text(found, experiment, gathered, plots), encoding="utf-8")
    if gathered.profile:
        (folder / "profile.yaml").write_text(gathered.profile, encoding="utf-8")
    (folder / "logs").mkdir()
    for node, log in gathered.logs.items():
        (folder / "logs" / f"{node}.log").write_text(log, encoding="utf-8")
    archive = folder.with_name(f"{folder.name}.tar.gz")
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(folder, folder.name)
    return archive


def draw(folder, found, experiment):
    """Draws each chart that has values; returns {title: file name}."""
    from tool import plots  # imports matplotlib, which a measurement does not need

    folder.mkdir()
    files = {}
    for chart in experiment.charts:
        if drawn := plots.draw(chart, found, experiment.units):
            files[chart.title] = f"{words.slug(chart.title)}.svg"
            (folder / files[chart.title]).write_text(drawn, encoding="utf-8")
    return files


def text(found, experiment, gathered, plots):
    """Returns report.md. `plots`: {title of a chart: file name in the folder plots}."""
    hosts = gathered.hosts
    lines = [f"# hatrpc between {hosts['client']['host']} and {hosts['server']['host']}", "",
             f"`{found.facts['command']}`, on {found.facts['date']}, at commit {words.commit_words(found.facts)}; "
             f"{words.how_words(found.facts)}.", ""]
    if is_emulated(hosts):
        lines += [EMULATED, ""]
    lines += ["## The hosts", "", *hosts_table(hosts), "", *devices_tables(hosts),
              "## How far to trust the numbers", "", *trust(found, experiment, gathered), ""]
    for chart in experiment.charts:
        lines += [f"## {chart.title}", ""]
        if chart.title in plots:
            lines += [f"![{chart.title}](plots/{plots[chart.title]})", ""]
        lines += map(tables.markdown, tables.of_chart(chart, found, experiment))
    lines += ["## All values", "", "Medians, and in brackets the lowest and the highest round.", "",
              tables.markdown(tables.of_all(found, experiment)), experiment.notes, "",
              *plan_lines(gathered), *carried_lines(gathered), *profile_lines(gathered), *doctor_lines(hosts)]
    return "\n".join(lines).rstrip() + "\n"


def is_emulated(hosts):
    """Returns True if a host has no RDMA device with a driver of its own, or its hatrpcd does not use a device."""
    return any(not one["fabric"].startswith("verbs") or
               not any(device["driver"] != "none: emulated" and device["name"] in one["fabric"]
                       for device in one["devices"]) for one in hosts.values())


def hosts_table(hosts):
    return ["| | client's host | server's host |", "|---|---|---|",
            *(f"| {said} | {hosts['client'][key]} | {hosts['server'][key]} |" for key, said in FACTS.items())]


def devices_tables(hosts):
    lines = []
    for role, facts in hosts.items():
        for device in facts["devices"]:
            said = [f"{said} {device[key]}" for key, said in DEVICE_FACTS.items() if device[key]]
            lines.append(f"* {role}'s host, device {device['name']}: {', '.join(said)}")
            lines += [f"  * port {port['port']}: {port['state']}, {port['link_layer']}, {port['rate']}"
                      + (f", {port['interface']} with MTU {port['interface_mtu']}" if port["interface"] else "")
                      for port in device["ports"]]
    return [*lines, ""] if lines else []


def doctor_lines(hosts):
    lines = ["## hatctl doctor", "", "The findings of `hatctl doctor` on both hosts, before the measurement:", ""]
    for role, facts in hosts.items():
        lines += [f"* {role}'s host, {one['verdict']}: {one['check']} {one['subject']}: {one['text']}"
                  for one in facts["doctor"]]
    return [*lines, ""]


def trust(found, experiment, gathered):
    failed = sum(calls for outcome, calls in gathered.outcomes.items() if outcome != "success")
    lines = [noise.summary(found, experiment), clock.summary(found, experiment),
             f"Of {sum(gathered.outcomes.values()):,} calls, {failed:,} failed."]
    if len(found.rows) < found.expected():
        lines.append(f"The run was interrupted after {len(found.rows)} of {found.expected()} measurements.")
    if found.facts["busy"]:
        lines.append(f"The client's host was busy: {found.facts['busy']}.")
    if gathered.no_profile:
        lines.append(f"`hatctl calibrate` failed: {gathered.no_profile}")
    lines = [f"* {line}" for line in lines]
    if errors := found.errors():
        lines += [f"* {len(errors)} of {found.expected()} measurements failed:",
                  *(f"  * {said}" for said in map(words.error_words, errors))]
    return lines


def plan_lines(gathered):
    """Returns the plans that the planner chose, by constants and by the measured costs."""
    lines = ["## The plans of the planner", "", "| service | set-up | plan | reason |", "|---|---|---|---|"]
    lines += [f"| {service} | {peer} | {plan} | {reason} |" for peer in (PLANNED, MEASURED)
              for service, (plan, reason) in gathered.plans.get(peer, {}).items()]
    return [*lines, ""]


def carried_lines(gathered):
    """Returns a table of the protocols that carried the calls of each set-up and service in the whole run."""
    lines = ["## The protocols that carried the calls", "", "| set-up | service | request | reply | calls |",
             "|---|---|---|---|---:|"]
    lines += [f"| {peer} | {service} | {request} | {reply} | {calls:,} |" for peer, service, request, reply, calls
              in sorted(gathered.carried, key=lambda row: (PEERS.index(row[0]), row[1:]))]
    return [*lines, ""]


def profile_lines(gathered):
    if not gathered.profile:
        return []
    return ["## The profile", "", "`profile.yaml`, which `hatctl calibrate` wrote:", "",
            "```", gathered.profile.rstrip(), "```", ""]
