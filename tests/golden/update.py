"""Record the golden runs anew: `python -m tests.golden.update`. Say in the commit why they changed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from addtree.support.files import write_text
from tests.golden.runs import RUNS

RECORD = Path(__file__).with_name("runs.json")
LENGTH = 12  # Another BLAS or CPU agrees to a thousandth for this long; measured with OPENBLAS_CORETYPE.


def main() -> None:
    """Write the record."""
    runs = {name: run(LENGTH) for name, run in RUNS.items()}
    write_text(RECORD, json.dumps(runs, indent=1) + "\n")
    print(f"{len(runs)} runs of {LENGTH} asks in {RECORD}")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
