# SPDX-License-Identifier: Apache-2.0
"""bench/nic: `./dev nic`: measures hatrpc on the RDMA devices of two hosts, and packs a report."""
