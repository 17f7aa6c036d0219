"""The public benchmark: tasks, peers, a runner and a report. Start with `benchmarks/README.md`."""
