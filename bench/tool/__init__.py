# SPDX-License-Identifier: Apache-2.0
"""bench/tool: ./dev bench. Experiments (bench/experiments) use experiment, chart and ways."""
