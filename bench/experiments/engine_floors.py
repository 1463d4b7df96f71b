# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/engine_floors.py: compares the engine with the lowest times that the machine can reach."""

from engine import engine_bench
from tool import chart, experiment

CALL, ONEWAY, LARGE = "call of 64 B", "one way, 64 B", "one way, 128 KiB"
WORDS = {
    (CALL, "machine"): ["flag"],
    (CALL, "engine"): ["calls", "--protocol", "direct_write_imm", "--size", "64", "--polling",
                       "busy"],
    (ONEWAY, "engine"): ["oneway", "--size", "64"],
    (LARGE, "machine"): ["memcpy", "--size", "131072"],
    (LARGE, "engine"): ["oneway", "--size", "131072", "--zero-copy"],
}
NAMES = {"p50_us": "p50_us", "messages_per_second": "messages_per_s",
         "gigabytes_per_second": "gigabytes_per_s"}


def words_of(peer, point):
    return WORDS.get((point["what"], peer))


EXPERIMENT = experiment.Experiment(
    name="engine-floors", title="The engine and the machine's floor",
    question="How near does the engine come to the best that two cores and their memory can do?",
    peers=["machine", "engine"], points=[{"what": what} for what in (CALL, ONEWAY, LARGE)],
    open=engine_bench.opener(words_of, NAMES), options=[engine_bench.FABRIC],
    seconds=0.3, rounds=5, warm_up=0,
    clocks=engine_bench.NO_CALLS, measures=engine_bench.MEASURES,
    units={"p50_us": experiment.Unit("µs", "lower", "p50 there and back"),
           "messages_per_s": experiment.Unit("messages/s", "higher", "messages per second"),
           "gigabytes_per_s": experiment.Unit("GB/s", "higher", "bandwidth")},
    charts=[chart.Bars("p50_us", "what", "There and back, p50", where={"what": CALL}),
            chart.Bars("gigabytes_per_s", "what", "Bandwidth", where={"what": LARGE})],
    goals=[
        experiment.Goal("p50 of a call of 64 B ÷ p50 of a flag that two cores toggle", "p50_us",
                        "engine", {"what": CALL}, to="machine", at_most=2),
        experiment.Goal("one-way messages of 64 B per second", "messages_per_s", "engine",
                        {"what": ONEWAY}, at_least=2_000_000),
        experiment.Goal("bandwidth of one-way 128 KiB from borrowed memory ÷ that of memcpy", "gigabytes_per_s",
                        "engine", {"what": LARGE}, to="machine", at_least=0.5)],
    notes=engine_bench.NOTES + "The row “machine” is a flag in shared memory that two processes "
                               "toggle, and memcpy from one buffer to another.")
