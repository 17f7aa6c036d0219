"""How often the sampler knows the structure of define-by-run code.

python -m benchmarks.structure                    500 random programs, each with trials of the sampler
python -m benchmarks.structure --programs 50      fewer programs
python -m benchmarks.structure --random           trials of Optuna's random sampler, which are faster to make
python -m benchmarks.structure --verbose          prints the numbers of the programs that are wrong at some mark
python -m benchmarks.structure --jobs 16          in several processes

A random program is a tree of choices, up to three deep. A gate is a category with two to four options or an integer
that opens parameters from a threshold on. Several options may ask for the same gate. Each node of the tree is active in
at least 5 % of random executions. The structure is right if the inferred space predicts which parameters are active in
each of 200 fresh random executions.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import optuna
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FrozenTrial

from addtree._optuna.inferred import Inferred
from addtree.optuna import AddTreeSampler
from addtree.support.processes import worker_pool

PROGRAMS, FRESH = 500, 200
MARKS = (20, 40, 100)
MIN_SHARE = 0.05  # Each node is active in at least this share of random executions.
MAX_DEPTH = 3


@dataclass(frozen=True)
class Node:
    """What a program asks for at one place: parameters that open nothing, then gates."""

    parameters: tuple[str, ...]
    gates: tuple[Gate, ...] = ()

    def run(self, trial: optuna.Trial) -> float:
        """Ask for everything; the sum of the values."""
        total = 0.0
        for name in self.parameters:
            if name.startswith("category"):
                total += len(trial.suggest_categorical(name, ["a", "bb", "ccc"]))
            elif name.startswith("integer"):
                total += trial.suggest_int(name, 1, 8)
            else:
                total += (trial.suggest_float(name, 0, 1) - 0.3) ** 2
        return total + sum(gate.run(trial) for gate in self.gates)


@dataclass(frozen=True)
class Gate:
    """A parameter with one node per value; an integer has its values in order."""

    name: str
    nodes: tuple[Node, ...]
    ordered: bool

    def run(self, trial: optuna.Trial) -> float:
        """Ask for the gate and for what its value opens."""
        if self.ordered:
            position = trial.suggest_int(self.name, 1, len(self.nodes)) - 1
        else:
            labels = [f"option_{i}" for i in range(len(self.nodes))]
            position = labels.index(trial.suggest_categorical(self.name, labels))
        return 0.1 * position + self.nodes[position].run(trial)


class Generator:
    """Draws random programs."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._n_names = 0

    def program(self) -> Node:
        """A program in which every node is active often enough."""
        while True:
            program = self._node(0, root=True)
            shares: dict[int, float] = {}
            _add_shares(program, 1.0, shares)
            if program.gates and min(shares.values()) >= MIN_SHARE:
                return program

    def _name(self, kind: str) -> str:
        self._n_names += 1
        return f"{kind}_{self._n_names}"

    def _node(self, depth: int, *, root: bool = False) -> Node:
        kinds = self._rng.choice(["float", "category", "integer"], size=self._rng.integers(0, 3), p=[0.6, 0.2, 0.2])
        n_gates = self._rng.integers(1, 3) if root else self._rng.integers(0, 2)
        gates = tuple(self._gate(depth) for _ in range(n_gates if depth < MAX_DEPTH else 0))
        return Node(tuple(self._name(kind) for kind in kinds), gates)

    def _gate(self, depth: int) -> Gate:
        if self._rng.random() < 0.3:
            return self._integer_gate(depth)
        nodes = [self._node(depth + 1) for _ in range(self._rng.integers(2, 5))]
        if len(nodes) > 2 and depth + 1 < MAX_DEPTH and self._rng.random() < 0.4:  # All but one option share a gate.
            shared = self._gate(depth + 1)
            nodes[1:] = [Node(node.parameters, (shared,)) for node in nodes[1:]]
        return Gate(self._name("gate"), tuple(nodes), ordered=False)

    def _integer_gate(self, depth: int) -> Gate:
        """A number of layers, or a threshold from which on something is open."""
        n = int(self._rng.integers(2, 6))
        if self._rng.random() < 0.5:
            layers = [self._name("float") for _ in range(n)]
            return Gate(self._name("number"), tuple(Node(tuple(layers[: i + 1])) for i in range(n)), ordered=True)
        below, above = self._node(depth + 1), self._node(depth + 1)
        threshold = int(self._rng.integers(1, n))
        return Gate(self._name("number"), (below,) * threshold + (above,) * (n - threshold), ordered=True)


def _add_shares(node: Node, share: float, shares: dict[int, float]) -> None:
    """Add to the shares of random executions in which each node is active."""
    shares[id(node)] = shares.get(id(node), 0.0) + share
    for gate in node.gates:
        for below in gate.nodes:
            _add_shares(below, share / len(gate.nodes), shares)


def make_program(i: int) -> Node:
    """The i-th random program."""
    return Generator(np.random.default_rng([16, i])).program()


def trials_of(program: Node, sampler: BaseSampler, n: int) -> list[FrozenTrial]:
    """The trials of a study of a program."""
    study = optuna.create_study(sampler=sampler)
    study.optimize(program.run, n_trials=n)
    return study.get_trials(deepcopy=False)


def is_right(trials: list[FrozenTrial], fresh: list[FrozenTrial]) -> bool:
    """Whether the structure that the trials show predicts which parameters each fresh trial has."""
    inferred = Inferred(trials)
    return all(inferred.fits(trial) for trial in fresh)


def judge(i: int, marks: Sequence[int], *, random: bool) -> list[bool]:
    """Whether the structure of the i-th program is right after each number of trials."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    program = make_program(i)
    trials = trials_of(program, RandomSampler(seed=i) if random else AddTreeSampler(seed=i), max(marks))
    fresh = trials_of(program, RandomSampler(seed=1_000_000 + i), FRESH)
    return [is_right(trials[:mark], fresh) for mark in marks]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=PROGRAMS)
    parser.add_argument("--marks", type=int, nargs="+", default=MARKS, help="numbers of trials")
    parser.add_argument("--random", action="store_true", help="trials of Optuna's random sampler")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    start = time.perf_counter()
    with worker_pool(args.jobs) as pool:
        pending = [pool.submit(judge, i, args.marks, random=args.random) for i in range(args.programs)]
        right = np.array([future.result() for future in pending])
    if args.verbose:
        for i in np.flatnonzero(~right.all(axis=1)):
            print(f"program {i}:", dict(zip(args.marks, right[i].tolist(), strict=True)))
    for mark, share in zip(args.marks, right.mean(axis=0), strict=True):
        print(f"right after {mark:3d} trials: {share:7.1%} of {args.programs} programs")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
