"""Where the benchmark keeps its files."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parents[1]
RESULTS = _FOLDER / "results"  # The folder of the runs and their report.
RECORDED = _FOLDER / "recorded"  # The runs that the repository keeps.
REFERENCES = _FOLDER / "tasks" / "references.json"  # The best known value of every task without a known optimum.
