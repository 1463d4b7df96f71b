"""bench/tool: ./dev bench. Experiments lie in bench/experiments, and use experiment, chart and ways."""
