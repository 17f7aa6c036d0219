"""Small helpers for files, numbers, processes, signals and threads. They know nothing of optimization."""
