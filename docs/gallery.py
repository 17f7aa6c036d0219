"""Make the page of the examples, docs/gallery.md: `make gallery` (needs Chromium).

It runs the examples that need no server and no download. It writes what each example says of itself, its output and
its picture to the page. A test compares the page with the examples and tells when it has to be made again.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "img"

INTRODUCTION = """# Gallery

These are the files of the folder `examples`. `make gallery` makes this page and runs those whose output is shown.
"""


@dataclass(frozen=True)
class Entry:
    """One example.

    file      its name in the folder `examples`
    title     heading of its section
    command   shell command that shows it
    runs      whether `make gallery` runs the command; otherwise `needs` tells why not
    needs     what the command needs besides addtree, for the reader
    report    file that the command writes, of which a picture is made
    sections  sections of that report that the picture shows
    """

    file: str
    title: str
    command: str
    runs: bool = True
    needs: str = ""
    report: str = ""
    sections: tuple[str, ...] = ()

    @property
    def picture(self) -> Path | None:
        """The file of the picture."""
        return PICTURES / f"gallery-{Path(self.file).stem}.png" if self.report else None


def _task(name: str, *options: str) -> str:
    """The commands that run a task and show what was found."""
    run = " ".join([f"addtree run examples/{name}.py --trials 40 --seed 0", *options, f"--storage {name}.db"])
    return f"{run}\naddtree explain --storage {name}.db\naddtree report --storage {name}.db -o {name}.html"


ENTRIES = (
    Entry(
        "cash.py", "Which classifier?", _task("cash"), needs="scikit-learn", report="cash.html", sections=("branches",)
    ),
    Entry(
        "pipeline.py",
        "A pipeline with three choices",
        _task("pipeline", "--maximize"),
        needs="scikit-learn",
        report="pipeline.html",
        sections=("branches",),
    ),
    Entry(
        "accuracy_and_speed.py",
        "Accuracy against speed",
        _task("accuracy_and_speed"),
        needs="scikit-learn",
        report="accuracy_and_speed.html",
        sections=("front", "tradeoffs"),
    ),
    Entry(
        "layers.py",
        "A variable number of layers, in Optuna",
        "python examples/layers.py",
        needs="scikit-learn",
        report="layers.html",
        sections=("branches", "effects"),
    ),
    Entry("sklearn_search.py", "A search of scikit-learn", "python examples/sklearn_search.py", needs="scikit-learn"),
    Entry("notebook.ipynb", "A notebook", "jupyter lab examples/notebook.ipynb", runs=False, needs="Jupyter"),
    Entry("flaky_worker.py", "Ask and tell with unreliable workers", "python examples/flaky_worker.py"),
    Entry(
        "shell_command.sh",
        "A shell command",
        "examples/shell_command.sh LICENSE 20",
        needs="gzip, bzip2 and xz",
        runs=False,
    ),
    Entry(
        "compressor.json",
        "The space of the shell command",
        "addtree suggest lab --space examples/compressor.json --seed 0",
    ),
    Entry(
        "postgres_workers.sh",
        "Several machines that share a database",
        "examples/postgres_workers.sh postgresql://USER:PASSWORD@HOST/DATABASE",
        runs=False,
        needs="a PostgreSQL server",
    ),
    Entry(
        "dask_workers.py", "Dask", "python examples/dask_workers.py", runs=False, needs="Dask and optuna-integration"
    ),
    Entry("ray_tune.py", "Ray Tune", "python examples/ray_tune.py", runs=False, needs="Ray"),
    Entry(
        "compression.py",
        "Compress a network",
        "addtree run examples/compression.py --trials 80 --seed 0",
        runs=False,
        needs="MNIST, which it downloads",
    ),
    Entry(
        "compression_front.py",
        "Compress a network: error against size",
        "addtree run examples/compression_front.py --trials 60 --seed 0",
        runs=False,
        needs="MNIST, which it downloads",
    ),
)


# ---------------------------------------------------------------------- what an example says of itself


def summary(path: Path) -> str:
    """What an example says of itself at its beginning, without the commands."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        said = ast.get_docstring(ast.parse(text)) or ""
    elif path.suffix == ".ipynb":
        said = "".join(json.loads(text)["cells"][0]["source"]).partition("\n\n")[2]
    elif path.suffix == ".sh":
        lines = text.splitlines()[1:]
        said = "\n".join(line.lstrip("# ") for line in lines[: next(i for i, x in enumerate(lines) if x[:1] != "#")])
    else:
        return "The form in which `Space.to_dict` stores a space, written by hand. `shell_command.sh` uses it."
    return "\n\n".join(p for p in said.split("\n\n") if not re.match(r"(python|addtree|pip|examples/)", p)).strip()


def digest(path: Path) -> str:
    """A short digest of an example, by which a test notices that the page is older than the example."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def head(entry: Entry) -> str:
    """The part of a section that follows from the example alone."""
    path = EXAMPLES / entry.file
    parts = [f"## {entry.title}", f"<!-- {entry.file} {digest(path)} -->", f"`examples/{entry.file}`: {summary(path)}"]
    if entry.needs:
        parts.append(f"It needs {entry.needs}.")
    return "\n\n".join([*parts, f"```sh\n{entry.command}\n```"])


# ---------------------------------------------------------------------- running


def output(entry: Entry, folder: Path) -> str:
    """What an example prints, run in this folder."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "120"}
    done = subprocess.run(
        ["bash", "-ec", entry.command], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.replace(f"{folder}/", "").strip()


def section(entry: Entry, folder: Path) -> str:
    """The section of an example, after running it."""
    parts = [head(entry)]
    if entry.runs:
        parts.append(f"```text\n{output(entry, folder)}\n```")
    if entry.picture is not None:
        from picture import photograph

        photograph(folder / entry.report, entry.sections, entry.picture)
        parts.append(f"![A part of the report of `{entry.file}`](img/{entry.picture.name})")
    return "\n\n".join(parts)


def main() -> None:
    """Run the examples and write the page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(EXAMPLES)
        sections = [section(entry, folder) for entry in ENTRIES]
    PAGE.write_text("\n\n".join([INTRODUCTION.strip(), *sections]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
