# SPDX-License-Identifier: Apache-2.0
"""bench/tool: the code of `./dev bench`. Experiments (bench/experiments) import experiment, chart and ways."""
