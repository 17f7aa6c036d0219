"""What a suggestion costs now, as a ratio to an earlier commit: `python -m benchmarks.commits da5dcbd`.

Old and new code take turns in one run on one machine, each in a process of its own with one BLAS thread. The ratio is
that of the processor times of the same runs; over the repetitions it has a median and a range.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks import revision

SCRIPT = Path(__file__).parent / "support" / "timed_suggestions.py"
PROBLEMS = ("synthetic", "interaction", "goldstein", "define-by-run:synthetic", "define-by-run:interaction")
LATE = 20  # the last suggestions of a run, whose mean is the cost at that number of evaluations


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("--problems", nargs="+", default=PROBLEMS)
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=7, help="seeds 0 .. n-1")
    given = parser.parse_args()
    print(f"| problem | {given.commit}, ms at {given.evaluations} | now, ms | ratio at the end | ratio of whole runs |")
    print("|---|---|---|---|---|")
    for problem in given.problems:
        seconds: dict[str | None, list[list[float]]] = {given.commit: [], None: []}
        for seed in range(given.repetitions):
            order = list(seconds) if seed % 2 else list(seconds)[::-1]
            for commit in order:
                said = revision.run(SCRIPT, [problem, str(given.evaluations), str(seed)], commit)
                seconds[commit].append(json.loads(said))
        old, new = (1e3 * np.array(seconds[commit]) for commit in (given.commit, None))
        late = [times[:, -LATE:].mean(axis=1) for times in (old, new)]
        whole = [times.sum(axis=1) for times in (old, new)]
        shown = [f"{np.median(ms):.1f}" for ms in late]
        ratios = [np.sort(b / a) for a, b in (late, whole)]
        shown += [f"{np.median(r):.2f} ({r[0]:.2f}–{r[-1]:.2f})" for r in ratios]
        print(f"| {problem} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
