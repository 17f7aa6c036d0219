"""Runs inside the environment that has GPyOpt and is never imported: JSON lines in, JSON lines out.

First line: {"domain": [...], "seed": s}. Then each line {"X": [[...]], "Y": [...]} is answered by {"x": [...]}.
"""

import json
import sys


def main() -> None:
    """Answer until the pipe closes."""
    import GPy
    import GPyOpt
    import numpy as np

    answers, sys.stdout = sys.stdout, sys.stderr  # GPyOpt itself prints to standard output
    start = json.loads(sys.stdin.readline())
    np.random.seed(start["seed"])  # noqa: NPY002 - GPyOpt draws from the global state
    dimension = GPyOpt.Design_space(start["domain"]).model_dimensionality  # one-hot columns count one by one
    for line in sys.stdin:
        data = json.loads(line)
        loop = GPyOpt.methods.BayesianOptimization(
            f=None,
            domain=start["domain"],
            X=np.array(data["X"], dtype=float),
            Y=np.array(data["Y"], dtype=float)[:, None],
            kernel=GPy.kern.RBF(dimension),
            acquisition_type="EI",
            exact_feval=True,
        )
        print(json.dumps({"x": [float(v) for v in loop.suggest_next_locations()[0]]}), file=answers, flush=True)


if __name__ == "__main__":
    main()
