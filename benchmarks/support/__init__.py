"""What several benchmarks share: regrets and figures, servers of one's own, and processes that they start."""
