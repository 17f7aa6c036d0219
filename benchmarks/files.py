"""Where the benchmark keeps its files."""

from __future__ import annotations

from pathlib import Path

RESULTS = Path(__file__).with_name("results")  # The folder of the runs and their report.
REFERENCES = Path(__file__).with_name("references.json")  # The best known value of every task without a known optimum.
