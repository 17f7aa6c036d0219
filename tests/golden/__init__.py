"""Recorded runs: short ones on disk that every machine reproduces, and long ones that a commit is compared with."""
