"""The `gpyopt` baseline, twice: GPyOpt itself in an environment of its own, and the same method written anew.

Both flatten the space: every variable has a value in every point, choices and categories are one-hot, what is inactive
is simply there. Gaussian process with one isotropic squared-exponential kernel, maximum likelihood, expected
improvement, five random points first (GPyOpt's default).

| symbol | meaning | shape |
|---|---|---|
| X | flattened points: unit interval for numbers, one-hot columns for the rest | n x D |
| y | values, standardised | n |
| θ | log of amplitude, lengthscale, noise variance | 3 |
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from addtree.errors import BaselineError
from addtree.paper.search import CANDIDATES, STARTS, expected_improvement
from addtree.space.parameters import Categorical, Integer, Real
from addtree.space.space import Choice, Config, Space

Float = NDArray[np.float64]

INITIAL = 5  # GPyOpt's initial_design_numdata
JITTER = 0.01  # improvement asked for, of standardised y; GPyOpt's acquisition_jitter
BOUNDS = ((-7.0, 7.0), (-4.0, 4.0), (-16.0, 0.0))  # of θ
PROBE = """
import json, platform
from importlib.metadata import version
found = {name: version(name) for name in ("GPyOpt", "GPy", "numpy")}
print(json.dumps({**found, "python": platform.python_version()}))
"""


def installed(python: str) -> dict[str, str]:
    """The versions of GPyOpt and of what it stands on, in the environment of that Python."""
    try:
        said = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, check=True).stdout
    except OSError as error:
        raise BaselineError(f"{python} cannot be run ({error}); docs/paper.md says how to set GPyOpt up") from error
    except subprocess.CalledProcessError as error:
        why = error.stderr.strip().splitlines()[-1]
        raise BaselineError(f"{python} has no GPyOpt ({why}); docs/paper.md says how to set it up") from error
    versions: dict[str, str] = json.loads(said)
    return versions


def active(space: Space, full: dict[str, Any]) -> dict[str, Any]:
    """The configuration inside a flat point: only what the choices activate."""
    config: dict[str, Any] = {}
    for name, child in space.children.items():
        config[name] = full[name]
        if isinstance(child, Choice):
            config |= active(child.spaces[int(child.encode(full[name]))], full)
    return config


class GPyOpt:
    """GPyOpt 1.2.6, asked over a pipe."""

    def __init__(self, space: Space, seed: int, *, python: str) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)
        self._X: list[list[float]] = []
        self._Y: list[float] = []
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        source = resources.files("addtree.paper").joinpath("gpyopt_worker.py").read_text()
        self._worker = subprocess.Popen(
            [python, "-W", "ignore", "-c", source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._send({"domain": _domain(space), "seed": seed})

    def ask(self) -> dict[str, Any]:
        """GPyOpt's next location, or a random one while there are fewer than five."""
        if len(self._Y) < INITIAL:
            x = [_random_value(domain, self._rng) for domain in self._space.variables.values()]
        else:
            self._send({"X": self._X, "Y": self._Y})
            x = self._receive()["x"]
        self._X.append(x)
        full = {
            name: domain.decode(value) if isinstance(domain, (Choice, Categorical)) else domain.check(value)
            for (name, domain), value in zip(self._space.variables.items(), x, strict=True)
        }
        return active(self._space, full)

    def tell(self, config: Config, value: float) -> None:
        """The value of what was asked."""
        self._Y.append(value)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._worker.stdin is not None
        try:
            self._worker.stdin.write(json.dumps(message) + "\n")
            self._worker.stdin.flush()
        except BrokenPipeError:
            self._receive()  # says why

    def _receive(self) -> dict[str, Any]:
        assert self._worker.stdout is not None
        answer = self._worker.stdout.readline()
        if not answer:
            self._errors.seek(0)
            said = self._errors.read().strip().splitlines()
            raise BaselineError(f"GPyOpt's process ended: {said[-1] if said else 'it does not say why'}")
        message: dict[str, Any] = json.loads(answer)
        return message

    def __del__(self) -> None:
        if hasattr(self, "_worker"):  # not if there is no such Python
            self._worker.communicate()
            self._errors.close()


def _domain(space: Space) -> list[dict[str, Any]]:
    """The space in GPyOpt's terms: nothing is conditional."""
    out: list[dict[str, Any]] = []
    for name, domain in space.variables.items():
        if isinstance(domain, Real):
            out.append({"name": name, "type": "continuous", "domain": [domain.low, domain.high]})
        elif isinstance(domain, Integer):
            out.append({"name": name, "type": "discrete", "domain": list(range(domain.low, domain.high + 1))})
        else:
            labels = domain.labels if isinstance(domain, Choice) else domain.values
            out.append({"name": name, "type": "categorical", "domain": list(range(len(labels)))})
    return out


def _random_value(domain: Any, rng: np.random.Generator) -> float:
    if isinstance(domain, Choice):
        return float(rng.integers(len(domain.labels)))
    code = domain.sample(rng)
    return float(code if isinstance(domain, Categorical) else domain.decode(code))


class GPyOptLike:
    """GP on the one-hot flattened space, written anew."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)
        self._X: list[Float] = []
        self._y: list[float] = []

    def ask(self) -> dict[str, Any]:
        """The point of largest expected improvement, or a random one while there are fewer than five."""
        codes = self._random(1)[0] if len(self._y) < INITIAL else self._best()
        self._X.append(self._one_hot(codes[None])[0])
        full = {
            name: domain.decode(code) for (name, domain), code in zip(self._space.variables.items(), codes, strict=True)
        }
        return active(self._space, full)

    def tell(self, config: Config, value: float) -> None:
        """The value of what was asked."""
        self._y.append(value)

    def _best(self) -> Float:
        """Random candidates, the best few improved in their numbers by L-BFGS-B with the categories held."""
        y = np.array(self._y)
        y = (y - y.mean()) / (y.std() or 1.0)
        X = np.array(self._X)
        theta = fit_flat(X, y, self._rng)

        def score(codes: Float) -> Float:
            return expected_improvement(*predict_flat(theta, X, y, self._one_hot(codes)), float(y.min()) - JITTER)

        points = self._random(CANDIDATES)
        values = score(points)
        numbers = [isinstance(d, (Real, Integer)) for d in self._space.variables.values()]
        found: list[tuple[float, Float]] = []
        for i in np.argsort(-values)[:STARTS]:
            scale = max(abs(float(values[i])), 1e-300)
            point = points[i].copy()

            def loss(z: Float, point: Float = point, scale: float = scale) -> float:
                moved = point.copy()
                moved[numbers] = z
                return -float(score(moved[None])[0]) / scale

            box = [(0, 1)] * sum(numbers)
            end = minimize(loss, point[numbers], method="L-BFGS-B", bounds=box, options={"maxiter": 30})
            point[numbers] = np.clip(end.x, 0, 1)
            found.append((-float(end.fun) * scale, point))
        return max(found, key=lambda pair: pair[0])[1]

    def _random(self, n: int) -> Float:
        """Codes (n x variables): unit interval, or a position."""
        domains = self._space.variables.values()
        rows = [
            [self._rng.integers(len(d.labels)) if isinstance(d, Choice) else d.sample(self._rng) for d in domains]
            for _ in range(n)
        ]
        return np.array(rows, dtype=np.float64)

    def _one_hot(self, codes: Float) -> Float:
        columns = []
        for domain, column in zip(self._space.variables.values(), codes.T, strict=True):
            if isinstance(domain, Real):
                columns.append(column[:, None])
            elif isinstance(domain, Integer):
                columns.append(np.array([[domain.snap(code)] for code in column]))
            else:
                size = len(domain.labels) if isinstance(domain, Choice) else len(domain.values)
                columns.append(np.eye(size)[column.astype(int)])
        return np.hstack(columns)


def _squared_distance(A: Float, B: Float) -> Float:
    return np.asarray(np.maximum((A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T, 0), dtype=np.float64)


def negative_log_likelihood(theta: Float, D: Float, y: Float) -> tuple[float, Float]:
    """-log N(y; 0, K) and its gradient; K = a exp(-D / 2ℓ²) + s I, D the squared distances (n x n)."""
    amplitude, length, noise = np.exp(theta)
    S = amplitude * np.exp(-D / (2 * length**2))
    L = cho_factor(S + (noise + 1e-10) * np.eye(len(y)), lower=True)
    alpha = cho_solve(L, y)
    G = np.outer(alpha, alpha) - cho_solve(L, np.eye(len(y)))  # 2 d log N / dK
    value = 0.5 * y @ alpha + np.log(np.diag(L[0])).sum() + 0.5 * len(y) * np.log(2 * np.pi)
    gradient = -0.5 * np.array([(G * S).sum(), (G * S * D).sum() / length**2, noise * np.trace(G)])
    return float(value), gradient


def fit_flat(X: Float, y: Float, rng: np.random.Generator) -> Float:
    """Maximum likelihood from a fixed start and two random ones."""
    D = _squared_distance(X, X)
    starts = [np.array([0.0, 0.0, -9.0]), *(np.array([rng.normal(0, 1), rng.normal(0, 1), -9.0]) for _ in range(2))]
    ends = [
        minimize(negative_log_likelihood, start, args=(D, y), jac=True, method="L-BFGS-B", bounds=BOUNDS)
        for start in starts
    ]
    return np.asarray(min(ends, key=lambda end: float(end.fun)).x, dtype=np.float64)


def predict_flat(theta: Float, X: Float, y: Float, at: Float) -> tuple[Float, Float]:
    """Posterior mean and standard deviation of the flat process."""
    amplitude, length, noise = np.exp(theta)
    K = amplitude * np.exp(-_squared_distance(X, X) / (2 * length**2)) + (noise + 1e-10) * np.eye(len(y))
    L = np.linalg.cholesky(K)
    k = amplitude * np.exp(-_squared_distance(X, at) / (2 * length**2))
    v = solve_triangular(L, k, lower=True)
    mean = v.T @ solve_triangular(L, y, lower=True)
    return mean, np.sqrt(np.maximum(amplitude - (v**2).sum(axis=0), 1e-16))
