#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench/daemons/model_load.py: code of all experiments that compute with model_load what they can also measure."""

import collections

from tool import clock, experiment, processes, ways

FABRIC = experiment.Option(
    "--fabric", "what is between the hosts: measured uses this machine; model computes for hosts with 28 cores and "
    "network cards, in virtual time", "measured", ("measured", "model"))
# The default of model_load --hardware, for several time slices of the modelled scheduler.
MODEL = experiment.Model("skylake-connectx5", 0.05)
CLIENT_HOSTS = 9  # at most
COMPUTES = 2000  # seconds to compute one second of virtual time, with reserve
NOTES = ("Nothing was measured: the times are those of a model (docs/model.md). The code of hatrpcd's workers, plans, "
         "lanes and protocols runs in virtual time, on modelled hosts with 28 cores and modelled network cards. "
         "hatrpcd has seven workers on each host, where the measured runs have one. Checksums of messages on RDMA lanes "
         "(rfp, farm, pilaf, hipower) cost no time. A run computes the same values each time. ")


def is_model(options):
    """Returns True if a run with these options computes; `options` are those that differ from their defaults."""
    return options.get("--fabric") == "model"


def model(settings):
    return MODEL if settings.fabric == "model" else None


def run(settings, seconds, manifest, clients, *words):
    """Computes a load; returns model_load's output.

    `manifest` is that of both daemons, or None for calls without daemons.
    """
    words = [settings.programs / "model_load", "--hardware", MODEL.hosts, "--clients", clients,
             "--seconds", f"{seconds:g}", *words]
    if manifest is None:
        words.append("--direct")
    else:
        file = settings.folder / "model.yaml"
        ways.write_whole(file, ways.manifest_text(manifest))
        words += ["--manifest", file, "--local", "ring" if settings.local == "shm" else "socket"]
    return processes.run_client(words, seconds * COMPUTES)


def refuse(settings, *flags):
    """Raises Failed for options that change nothing in a modelled run."""
    for flag in flags:
        if flag in settings.options:
            raise experiment.Failed(f"{flag} changes nothing with --fabric model")
    if settings.local == "unix":
        raise experiment.Failed("modelled sockets are neither TCP nor unix: leave out --local, or choose shm")


def calls_by_way(found):
    """Returns the calls by (request's protocol, reply's protocol), from model_load's output."""
    return collections.Counter({(way["request"], way["reply"]): way["calls"] for way in found["ways"]})


def load(found):
    """Returns the rate of all calls and the values of bench/tool/clock.py, as the measuring programs print them."""
    return {"calls_per_s": found["calls_per_second"], **clock.values(found)}
