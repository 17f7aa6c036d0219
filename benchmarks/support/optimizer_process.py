"""The optimizer of any commit of addtree, asked over a pipe: `python benchmarks/support/optimizer_process.py`.

It uses only the public interface of addtree, so that `benchmarks.noise` can run it on earlier commits. The first line
of the input is {"space": ..., "seed": ...}. Then "ask" and "recommend" are answered by a configuration, and a number is
the value of the configuration that was asked for last; "nan" says that its evaluation failed.
"""

from __future__ import annotations

import json
import sys

import addtree as at


def main() -> None:
    """Answer until the input ends."""
    given = json.loads(sys.stdin.readline())
    optimizer = at.Optimizer(at.Space.from_dict(given["space"]), seed=given["seed"])
    trial = None
    for line in sys.stdin:
        command = line.strip()
        if command == "ask":
            trial = optimizer.ask()
            print(json.dumps(trial.config), flush=True)
        elif command == "recommend":
            print(json.dumps(optimizer.recommend().config), flush=True)
        elif trial is not None and command == "nan":
            optimizer.tell(trial, failed=True)
        elif trial is not None:
            optimizer.tell(trial, float(command))


if __name__ == "__main__":
    main()
