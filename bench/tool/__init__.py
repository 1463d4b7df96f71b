"""bench/tool: ./dev bench. Experiments (bench/experiments) use experiment, chart and ways."""
