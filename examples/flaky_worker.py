"""Ask and tell with unreliable workers, in a program that may be stopped at any time.

Four experiments run at a time. A result may come late and out of order, may be NaN, or may never come; after three
rounds without a result, the trial is told as failed. The state is saved after each round, so the program continues
where it was stopped.

python examples/flaky_worker.py
"""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path
from typing import Any

import addtree as at

space = at.Space(
    temperature=at.Real(20, 90),
    catalyst=at.Choice(
        none=at.Space(),
        acid=at.Space(ph=at.Real(1, 6)),
        enzyme=at.Space(dose=at.Real(0.1, 10, log=True), strain=at.Categorical(("A", "B"))),
    ),
)


def yield_of(config: dict[str, Any]) -> float:
    """Return the yield of an experiment in percent; enzymes work best when warm, acids when hot."""
    t = float(config["temperature"])
    match config["catalyst"]:
        case "acid":
            return 70 - ((t - 80) / 12) ** 2 - 3 * float(config["ph"] - 2.5) ** 2
        case "enzyme":
            return (
                88 - ((t - 45) / 6) ** 2 - 8 * math.log10(config["dose"]) ** 2 - (4 if config["strain"] == "A" else 0)
            )
        case _:
            return 30 + t / 10


def worker(config: dict[str, Any], luck: random.Random) -> float | None:
    """Ask a worker for its result; None if there is none yet."""
    roll = luck.random()
    if roll < 0.3:
        return None
    return math.nan if roll < 0.4 else yield_of(config)


def main(n_trials: int = 60, save: Path = Path("flaky.json")) -> at.Optimizer:
    """Run until `n_trials` trials have been told."""
    opt = at.Optimizer.load(save) if save.exists() else at.Optimizer(space, seed=0, maximize=True)
    luck = random.Random(1)
    rounds: dict[int, int] = {}
    while sum(trial.state != "pending" for trial in opt.trials) < n_trials:
        pending = [trial for trial in opt.trials if trial.state == "pending"]
        pending += opt.ask(4 - len(pending)) if len(pending) < 4 else []
        for trial in luck.sample(pending, len(pending)):  # results come in any order
            result = worker(trial.config, luck)
            rounds[trial.id] = rounds.get(trial.id, 0) + 1
            if result is not None:
                opt.tell(trial, result)  # NaN counts as failed
            elif rounds[trial.id] == 3:
                opt.tell(trial, failed=True)
        opt.save(save)
    failed = sum(trial.state == "failed" for trial in opt.trials)
    print(f"{n_trials} trials told, {failed} of them failed; best yield {opt.best.value:.2f} % with {opt.best.config}")
    return opt


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
