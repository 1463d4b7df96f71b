# SPDX-License-Identifier: Apache-2.0
# tests/e2e/python/combination.py: parses the command line of a test client or server into combinations of address,
# transport and protocol.
import argparse


class Combination(argparse.Namespace):
    """One option --connect or --listen, and the options after it. tests/e2e/README.md lists the options."""

    @property
    def unix_path(self):
        return self.address[5:] if self.address.startswith('unix:') else None

    @property
    def shm_path(self):
        return self.address[4:] if self.address.startswith('shm:') else None

    def wants(self, case):
        return case not in self.skipped and (not self.cases or case in self.cases)

    @property
    def host(self):
        return self.address.rpartition(':')[0]

    @property
    def port(self):
        return int(self.address.rpartition(':')[2])


def read_combinations(words, first):
    """Parses a command line of several combinations. The option `first` begins each combination."""
    parser = argparse.ArgumentParser()
    parser.add_argument(first, dest='address', required=True)
    parser.add_argument('--transport', default='framed')
    parser.add_argument('--protocol', default='binary')
    parser.add_argument('--server', default='threaded')
    parser.add_argument('--multiplexed', default='')
    parser.add_argument('--case', dest='cases', action='append', default=[])
    parser.add_argument('--skip', dest='skipped', action='append', default=[])
    parser.add_argument('--timeout-ms', type=int, default=20_000)
    parser.add_argument('--large', type=int, default=16 << 20)
    begins = [i for i, word in enumerate(words) if word == first] or [0]
    ends = begins[1:] + [len(words)]
    return [parser.parse_args(words[begin:end], Combination()) for begin, end in zip(begins, ends)]
