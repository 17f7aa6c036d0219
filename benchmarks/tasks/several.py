"""Runs in which an evaluation gives several values, for `benchmarks.objectives` and `benchmarks.constraints`.

The repository keeps the runs of GPSampler, which take hours: a file for each command, with a line for each run. Remove
a line to repeat its run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import addtree as at
from addtree._types import Array
from addtree.optimizer import Settings
from addtree.search.policy import Policy
from benchmarks import noise
from benchmarks.paired import holm
from benchmarks.support import regret
from benchmarks.support.regret import REPLICATES
from benchmarks.tasks import yahpo
from benchmarks.tasks.task import MultiTask, Values

NOW, TPE, NSGA, GP = "addtree", "TPE", "NSGA-II", "GPSampler"
MARKS = (10, 20, 50, 100)  # The numbers of evaluations after which results are shown.

Job: TypeAlias = tuple[str, str, int, int]  # problem, method, seed and number of evaluations


def surrogate(scenario: str, instance: str, targets: Sequence[str]) -> MultiTask:
    """A task of YAHPO Gym with several outputs, all of them objectives."""
    parts = {target: yahpo.problem(scenario, instance, target) for target in targets}
    space = next(iter(parts.values()))[0]

    def evaluate(config: Mapping[str, Any]) -> Values:
        return {target: objective(config) for target, (_, objective) in parts.items()}

    return MultiTask(space, evaluate, tuple(targets))


def sample(task: MultiTask, n: int) -> list[Values]:
    """The values of n random configurations."""
    rng = np.random.default_rng(0)
    return [task.evaluate(task.space.sample(rng)) for _ in range(n)]


def methods(peers: Sequence[str]) -> list[str]:
    """The methods whose libraries are installed; the others are reported."""
    needs = {TPE: ("optuna",), NSGA: ("optuna",), GP: ("optuna", "torch")}
    found = [NOW]
    for peer in peers:
        missing = [name for name in needs[peer] if find_spec(name) is None]
        if missing:
            print(f"left out: {peer}, because {missing[0]} is not installed", file=sys.stderr)
        else:
            found.append(peer)
    return found


def with_margin(margin: float) -> str:
    """The method that is addtree with another margin of the reference point (see `Policy`)."""
    return f"{NOW} with margin {margin:g}"


def run(method: str, task: MultiTask, seed: int, budget: int) -> list[Values]:
    """The values of all evaluations of a run."""
    session: Native | Peer
    if method.startswith(NOW):
        margin = float(method.rpartition(" ")[2]) if method != NOW else Policy().margin
        session = Native(task, seed, settings=Settings(policy=replace(Policy(), margin=margin)))
    else:
        session = Peer(method, task, seed)
    told = []
    for _ in range(budget):
        values = task.evaluate(session.ask())
        session.tell(values)
        told.append(values)
    return told


class Native:
    """A run of addtree."""

    def __init__(
        self, task: MultiTask, seed: int, history: Sequence[Any] = (), settings: Settings | None = None
    ) -> None:
        objectives: Any = dict.fromkeys(task.objectives, "min")
        limits: Any = dict(task.limits) or None
        self._task = task
        self._names = (*task.objectives, *task.limits)
        self._optimizer = at.Optimizer(
            task.space, objectives=objectives, constraints=limits, seed=seed, history=history, settings=settings
        )

    def ask(self) -> dict[str, Any]:
        """The next configuration."""
        self._trial = self._optimizer.ask()
        return self._trial.config

    def tell(self, values: Values) -> None:
        """Tell the values of the last configuration."""
        self._optimizer.tell(self._trial, {name: values[name] for name in self._names})

    def add_random(self, seed: int) -> None:
        """Evaluate a random configuration."""
        config = self._task.space.sample(np.random.default_rng(seed))
        values = self._task.evaluate(config)
        self._optimizer.tell(config, {name: values[name] for name in self._names})


class Peer:
    """A run of a sampler of Optuna; the GP sampler gets the flattened space."""

    def __init__(self, method: str, task: MultiTask, seed: int) -> None:
        import optuna  # Optuna may be missing

        from benchmarks.peers.optuna_peers import make_sampler

        options: dict[str, Any] = {"seed": seed}
        if method == TPE:
            options |= {"multivariate": True, "group": True}
        if task.limits:
            options["constraints_func"] = lambda trial: json.loads(trial.user_attrs["constraints"])
        name = {TPE: "TPESampler", NSGA: "NSGAIISampler", GP: "GPSampler"}[method]
        directions: Any = ["minimize"] * len(task.objectives)
        self._study = optuna.create_study(sampler=make_sampler(name, **options), directions=directions)
        self._task, self._flat = task, method == GP

    def ask(self) -> dict[str, Any]:
        """The next configuration."""
        from addtree.paper.baselines.flat import active_part
        from addtree.study.task import suggest_config, suggest_parameter

        self._trial = trial = self._study.ask()
        space = self._task.space
        if not self._flat:
            return suggest_config(trial, space)
        full = {name: suggest_parameter(trial, name, domain) for name, domain in space.variables.items()}
        return active_part(space, full)

    def tell(self, values: Values) -> None:
        """Tell the values of the last configuration."""
        excess = [values[name] - limit for name, limit in self._task.limits.items()]
        self._trial.set_user_attr("constraints", json.dumps(excess))
        self._study.tell(self._trial, [values[name] for name in self._task.objectives])

    def enqueue(self, config: Mapping[str, Any]) -> None:
        """Let a configuration be among the next ones."""
        self._study.enqueue_trial(dict(config))

    def add_random(self, seed: int) -> None:
        """Evaluate a random configuration."""
        from optuna.samplers import RandomSampler

        sampler, self._study.sampler = self._study.sampler, RandomSampler(seed=seed)
        self.tell(self._task.evaluate(self.ask()))
        self._study.sampler = sampler


def collect(
    run_problem: Callable[[str, str, int, int], list[Values]], jobs: Sequence[Job], processes: int, kept: Path
) -> dict[Job, list[Values]]:
    """The values of runs. Those of GPSampler are read from the file `kept` if it has them, and else added to it."""
    known = _read(kept)
    found = {job: known[job[0], job[2]][: job[3]] for job in jobs if len(known.get((job[0], job[2]), ())) >= job[3]}
    found = {job: values for job, values in found.items() if job[1] == GP}

    def keep(job: Job, values: list[Values]) -> None:
        found[job] = values
        if job[1] == GP:
            shown = {name: [float(f"{each[name]:.9g}") for each in values] for name in values[0]}
            kept.parent.mkdir(parents=True, exist_ok=True)
            with open(kept, "a", encoding="utf-8") as file:
                file.write(json.dumps({"problem": job[0], "seed": job[2], "values": shown}) + "\n")

    noise.collect(run_problem, [job for job in jobs if job not in found], processes, keep)
    return {job: found[job] for job in jobs if job in found}


def _read(kept: Path) -> dict[tuple[str, int], list[Values]]:
    """The longest run of each problem and seed in a file."""
    out: dict[tuple[str, int], list[Values]] = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if kept.exists() else ():
        run = json.loads(line)
        values = [dict(zip(run["values"], each, strict=True)) for each in zip(*run["values"].values(), strict=True)]
        key = run["problem"], run["seed"]
        if len(values) > len(out.get(key, ())):
            out[key] = values
    return out


def at_marks(curve: Sequence[float] | Array) -> list[float]:
    """A curve after the numbers of evaluations in `MARKS`, as far as it goes."""
    return [curve[mark - 1] for mark in MARKS if mark <= len(curve)]


def with_all_methods(found: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Of pairs of a problem and a method: all methods, and the problems that have all of them."""
    pairs = list(found)
    names, present = (list(dict.fromkeys(pair[k] for pair in pairs)) for k in (0, 1))
    return present, [name for name in names if all((name, method) in pairs for method in present)]


def tests(found: Mapping[tuple[str, str], Array]) -> dict[tuple[str, str, int], float]:
    """p of Wilcoxon's test against addtree, with Holm's correction over the problems of a method at a mark.

    found  the results (seeds x marks) by problem and method
    """
    out: dict[tuple[str, str, int], float] = {}
    for method in dict.fromkeys(key[1] for key in found if key[1] != NOW):
        pairs = {n: (found[n, other].T, found[n, NOW].T) for n, other in found if other == method and (n, NOW) in found}
        for i in range(min((len(marks) for marks, _ in pairs.values()), default=0)):
            out |= holm({(n, method, i): regret.p_value(theirs[i], ours[i]) for n, (theirs, ours) in pairs.items()})
    return out


def print_verdicts(
    found: Mapping[tuple[str, str], Array],
    p_values: Mapping[tuple[str, str, int], float],
    marks: Sequence[int] = MARKS,
    *,
    sign: float,
) -> None:
    """Print on how many problems addtree is significantly better and worse than each peer; sign * result is better."""
    for method in dict.fromkeys(key[1] for key in p_values):
        signs = dict[int, list[float]]()  # Of the significant differences, by mark.
        for (name, other, i), p in p_values.items():
            if other == method:
                gain = sign * float(np.mean(found[name, NOW][:, i] - found[name, method][:, i]))
                signs.setdefault(i, []).append(float(np.sign(gain)) * (p < regret.ALPHA))
        shown = [f"{own.count(1.0)} / {own.count(-1.0)} of {len(own)} at {marks[i]}" for i, own in signs.items()]
        print(f"significantly better / worse than {method}: {', '.join(shown)}")


def interval(values: Array) -> str:
    """The mean over seeds, and its 95 % bootstrap interval."""
    rng = np.random.default_rng(0)
    means = values[rng.integers(len(values), size=(REPLICATES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{np.mean(values):.3g} ({low:.3g} to {high:.3g})"
