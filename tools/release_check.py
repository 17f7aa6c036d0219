"""Build the release and test it where it will be used: `make release-check`.

The source distribution and the wheel are built and checked by twine. Each is installed into two empty environments. A
smoke part of the tests and a study of the command line run there. One environment has the oldest Python with the lowest
versions that pyproject.toml allows. The other has the newest Python with the newest versions.

python tools/release_check.py --oldest python3.10 --newest python3.13
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("cli", "sklearn", "configspace")  # The extras whose bounds are tested; `cli` includes Optuna.
# These tests use every dependency of the extras and take less than a minute.
SMOKE = (
    "tests/test_problems.py",
    "tests/test_regression.py",
    "tests/space/test_decoding.py",
    "tests/search/test_acquisition.py",
    "tests/_optuna/test_codec.py",
    "tests/_optuna/test_state.py",
    "tests/report/test_text.py",
    "tests/report/test_plots.py",
    "tests/sklearn/test_spaces.py",
    "tests/cli/test_display.py",
)
TASK = """
import addtree as at
space = at.Space(x=at.Real(-1, 1), model=at.Choice(a=at.Space(), b=at.Space(k=at.Integer(1, 9))))
def objective(config): return config["x"] ** 2 + config.get("k", 3)
"""


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command that must succeed, outside of this checkout's packages."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(part) for part in command], check=True, cwd=cwd, env=environment)


def build(folder: Path) -> tuple[Path, Path]:
    """Build the source distribution and the wheel, and check what PyPI would show of them."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    return sdist, wheel


def check(distribution: Path, python: str, resolution: str, source: Path, folder: Path) -> None:
    """Install a distribution into an empty environment, and run the smoke tests of the unpacked source there.

    resolution  "lowest-direct" or "highest": which of the versions that pyproject.toml allows are installed
    """
    uv = [sys.executable, "-m", "uv"]
    interpreter = folder / "bin" / "python"
    run(*uv, "venv", "--quiet", "--python", python, folder)
    install = [*uv, "pip", "install", "--quiet", "--python", interpreter]
    extras = [part for extra in EXTRAS for part in ("--extra", extra)]
    run(*install, "--resolution", resolution, "-r", source / "pyproject.toml", *extras)
    run(*install, "--no-deps", distribution)
    run(*install, "pytest", "hypothesis")
    print(f"\n{distribution.name}, Python {python}, {resolution} versions:", flush=True)
    run(*uv, "pip", "list", "--python", interpreter)
    run(interpreter, "-m", "pytest", *SMOKE, cwd=source)
    (folder / "task.py").write_text(TASK)
    for command in ("run task.py --trials 12 --workers 2", "best", "report"):
        run(folder / "bin" / "addtree", *command.split(), cwd=folder)


def main() -> None:
    """Build, install and test."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--oldest", default="python3.10", help="the oldest Python that is supported")
    parser.add_argument("--newest", default="python3.13", help="the newest Python that is supported")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sdist, wheel = build(folder / "dist")
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        source = folder / sdist.name.removesuffix(".tar.gz")
        environments = ((options.oldest, "lowest-direct"), (options.newest, "highest"))
        for i, distribution in enumerate((sdist, wheel)):
            for j, (python, resolution) in enumerate(environments):
                check(distribution, python, resolution, source, folder / f"environment-{i}{j}")
    print("\nThe release works.")


if __name__ == "__main__":
    main()
