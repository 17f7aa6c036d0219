"""`python -m addtree.paper synthetic|regression|compression|complexity|all`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from addtree.errors import AddTreeError
from addtree.paper.command import EXPERIMENTS, PARTS, run
from addtree.paper.methods import METHODS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, print the path of the page, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m addtree.paper", description="Reproduce the paper's experiments.")
    parser.add_argument("experiment", choices=[*EXPERIMENTS, *PARTS, "all"])
    parser.add_argument("--quick", action="store_true", help="2 seeds, 25 iterations")
    parser.add_argument("--seeds", type=int, help="runs per method (10; 2 with --quick)")
    parser.add_argument("--out", type=Path, default=Path("paper-results"), help="raw results and the trained network")
    parser.add_argument("--docs", type=Path, help="folder for the page and its figures (default: --out)")
    parser.add_argument("--data", type=Path, help="folder that contains mnist/ (or set ADDTREE_DATA)")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes (default: 1)")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), help="run only these methods")
    given = vars(parser.parse_args(arguments))
    try:
        print(run(given.pop("experiment"), **given))
    except AddTreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; the same command continues from here", file=sys.stderr)
        return 130  # the exit status that shells give to an interrupted program
    return 0


if __name__ == "__main__":
    sys.exit(main())
