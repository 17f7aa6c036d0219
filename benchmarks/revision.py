"""An earlier commit of the package, side by side with the working tree.

`run` executes a script on the package as it was at a commit, in the same environment and on the same machine, so that
results can be compared bit by bit and timings as a ratio. From a shell:

    python -m benchmarks.revision da5dcbd benchmarks/sampler.py growth
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]


def exists(commit: str) -> bool:
    """Whether this is a git checkout that knows the commit; a shallow clone may not."""
    command = ["git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@contextmanager
def source(commit: str | None) -> Iterator[Path]:
    """The folder that contains the package at a commit; None means the working tree."""
    if commit is None:
        yield ROOT / "src"
        return
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit, "src"], capture_output=True, check=True)
    with TemporaryDirectory(prefix="addtree-") as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(folder, filter="data")
        yield Path(folder) / "src"


def environment(path: Path) -> dict[str, str]:
    """The environment variables of a process that uses the package in a folder, with one BLAS thread."""
    paths = os.pathsep.join([str(path), str(ROOT)])
    return {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(script: Path, arguments: Sequence[str], commit: str | None) -> str:
    """What a script prints when it runs on the package at a commit, with one BLAS thread."""
    with source(commit) as path:
        command = [sys.executable, str(script), *arguments]
        return subprocess.run(command, env=environment(path), capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="those of the script")
    given = parser.parse_args()
    print(run(given.script, given.arguments, given.commit), end="")
