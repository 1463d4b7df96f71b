# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/engine_hipower.py: compares HiPower's messages with messages that are confirmed one by one."""

from engine import engine_bench
from tool import chart, experiment

WORDS = {"confirm-each": ["--protocol", "direct_write_imm", "--confirm-each"],
         "hipower": ["--protocol", "hipower"]}
NAMES = {"messages_per_second": "messages_per_s",
         "client_cpu_us_per_message": "sender_cpu_us",
         "server_cpu_us_per_message": "receiver_cpu_us"}


def points(settings):
    return [{"lanes": lanes, "bytes": size} for lanes in (1, 4) for size in settings.bytes]


def words_of(peer, point):
    return ["oneway", *WORDS[peer], "--size", point["bytes"], "--clients", point["lanes"]]


EXPERIMENT = experiment.Experiment(
    name="engine-hipower", title="HiPower against a confirmation for each message",
    question="Do one-way messages gain if the receiver finds them without a completion?",
    source="HiPower (NPC'19), section 4", peers=list(WORDS), points=points, seconds=0.3, rounds=3,
    warm_up=0, open=engine_bench.opener(words_of, NAMES),
    options=[engine_bench.MODELLED_FABRIC,
             experiment.Option("--bytes", "sizes of a message", [64, 512, 1024, 4096], quick=[64])],
    clocks=engine_bench.NO_CALLS, measures=engine_bench.MEASURES,
    units={"messages_per_s": experiment.Unit("messages/s", "higher", "messages per second"),
           "sender_cpu_us": experiment.Unit("µs", "lower", "CPU per message: sender"),
           "receiver_cpu_us": experiment.Unit("µs", "lower", "CPU per message: receiver")},
    charts=[chart.Lines("messages_per_s", "bytes", "Messages per second", log_x=True)],
    notes=engine_bench.notes("Four lanes to one receiver take the place of gather and broadcast. Polling is busy. "
                             + engine_bench.CPU_NOTES), model=engine_bench.model)
