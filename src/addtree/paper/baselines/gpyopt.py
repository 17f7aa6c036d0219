"""GPyOpt 1.2.6, which runs in an environment of its own and is asked over a pipe.

GPyOpt gets the flattened space: every variable has a value in every point, whether it is active or not, and choices and
categories are one-hot columns. The settings are a Gaussian process with one isotropic squared-exponential kernel,
maximum likelihood, expected improvement, and five random points first (GPyOpt's default).
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from importlib import resources
from typing import Any

import numpy as np

from addtree._types import Config
from addtree.errors import BaselineError
from addtree.paper.baselines.flat import active_part, flattened
from addtree.space.encoding import Encoding
from addtree.space.parameters import Categorical, Integer, Real
from addtree.space.space import Space

INITIAL = 5  # Random points come first; this is the default of GPyOpt's `initial_design_numdata`.

# The program that prints the versions in the environment of GPyOpt as JSON.
PROBE = """
import json, platform
from importlib.metadata import version
found = {name: version(name) for name in ("GPyOpt", "GPy", "numpy")}
print(json.dumps({**found, "python": platform.python_version()}))
"""


def installed(python: str) -> dict[str, str]:
    """The versions of GPyOpt, GPy, NumPy and Python in the environment of that Python."""
    try:
        said = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, check=True).stdout
    except OSError as error:
        raise BaselineError(f"{python} cannot be run ({error}); docs/paper.md says how to set GPyOpt up") from error
    except subprocess.CalledProcessError as error:
        why = error.stderr.strip().splitlines()[-1]
        raise BaselineError(f"{python} has no GPyOpt ({why}); docs/paper.md says how to set it up") from error
    versions: dict[str, str] = json.loads(said)
    return versions


class GPyOpt:
    """GPyOpt in a process of its own, started by `python`."""

    def __init__(self, space: Space, seed: int, *, python: str) -> None:
        self._space = space
        self._flat = flattened(space)
        self._rng = np.random.default_rng(seed)
        self._X: list[list[float]] = []
        self._Y: list[float] = []
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        source = resources.files("addtree.paper.baselines").joinpath("gpyopt_worker.py").read_text()
        self._worker = subprocess.Popen(
            [python, "-W", "ignore", "-c", source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._send({"domain": gpyopt_domain(self._flat), "seed": seed})

    def ask(self) -> dict[str, Any]:
        """GPyOpt's next location, or a random one while there are fewer than five."""
        if len(self._Y) < INITIAL:
            x = _random_location(self._flat, self._rng)
        else:
            self._send({"X": self._X, "Y": self._Y})
            x = self._receive()["x"]
        self._X.append(x)
        full = {
            name: domain.values[int(value)] if isinstance(domain, Categorical) else value
            for (name, domain), value in zip(self._flat.variables.items(), x, strict=True)
        }
        return active_part(self._space, full)

    def tell(self, config: Config, value: float) -> None:
        """The value of the configuration that was just asked for."""
        self._Y.append(value)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._worker.stdin is not None
        try:
            self._worker.stdin.write(json.dumps(message) + "\n")
            self._worker.stdin.flush()
        except BrokenPipeError:
            self._receive()  # raises, and says why the process ended

    def _receive(self) -> dict[str, Any]:
        assert self._worker.stdout is not None
        answer = self._worker.stdout.readline()
        if not answer:
            self._errors.seek(0)
            said = self._errors.read().strip().splitlines()
            raise BaselineError(f"GPyOpt's process ended: {said[-1] if said else 'it gave no reason'}")
        message: dict[str, Any] = json.loads(answer)
        return message

    def __del__(self) -> None:
        if hasattr(self, "_worker"):  # there is none if the Python could not be started
            self._worker.communicate()
            self._errors.close()


def gpyopt_domain(flat: Space) -> list[dict[str, Any]]:
    """A flat space in GPyOpt's terms; a category is its position."""
    out: list[dict[str, Any]] = []
    for name, domain in flat.variables.items():
        if isinstance(domain, Real):
            out.append({"name": name, "type": "continuous", "domain": [domain.low, domain.high]})
        elif isinstance(domain, Integer):
            out.append({"name": name, "type": "discrete", "domain": list(range(domain.low, domain.high + 1))})
        else:
            assert isinstance(domain, Categorical)
            out.append({"name": name, "type": "categorical", "domain": list(range(len(domain.values)))})
    return out


def _random_location(flat: Space, rng: np.random.Generator) -> list[float]:
    """A random point as GPyOpt writes it: numbers as they are, categories by position."""
    config, encoding = flat.sample(rng), Encoding(flat)
    (codes,) = encoding.encode([config])
    columns = zip(config.values(), codes, encoding.is_numeric, strict=True)
    return [float(value if is_number else code) for value, code, is_number in columns]
