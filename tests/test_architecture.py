"""The direction of imports, and what an import of the package may load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import addtree

PACKAGE = Path(addtree.__file__).parent

# Each module imports only from modules above it; integrations come below the core.
ORDER = (
    "errors",
    "parameters",
    "space",
    "encoding",
    "terms",
    "covariance",
    "matrices",
    "factor",
    "gp",
    "output",
    "fit",
    "acquisition",
    "climb",
    "sample_path",
    "maximize",
    "design",
    "candidates",
    "suggest",
    "subset",
    "regression",
    "optimizer",
    "minimize",
    "problems",
    "report.records",
    "report.beliefs",
    "report.importance",
    "report.data",
    "report",
    "report.plots",
    "report.tree",
    "report.html",
    "report.explain",
    # integrations
    "infer",
    "spread",
    "translation",
    "optuna",
    "configspace",
    "storage",
    "target",
    "study",
    "workers",
    "report.study",
    "cli",
)
# what is imported only when a function that needs it is called, and may therefore come later
LATER = {
    "minimize": {"addtree.report"},
    "report": {"addtree.report.html"},
    "cli": {"addtree.paper.command"},
}
CORE_MAY_IMPORT = {"numpy", "scipy"}
# and what the modules of each extra may import besides
EXTRAS = {
    "translation": {"optuna"},
    "optuna": {"optuna"},
    "configspace": {"ConfigSpace"},
    "storage": {"optuna", "sqlalchemy"},
    "target": {"optuna"},
    "study": {"optuna", "sqlalchemy"},
    "workers": {"optuna"},
    "cli": {"optuna", "typer", "rich"},
    "report.plots": {"plotly"},
    "report.html": {"plotly"},
    "report.study": {"optuna"},
}
FILES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (*PACKAGE.glob("*.py"), *PACKAGE.glob("report/*.py"))
}
MODULES = sorted(FILES.keys() - {"__init__"})


def imported(path: Path) -> set[str]:
    """The modules a file imports anywhere in it, by full name; `from addtree import x` counts as addtree.x."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            if node.module == "addtree":
                names |= {f"addtree.{alias.name}" for alias in node.names}
            else:
                names.add(str(node.module))
    return names


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_modules_above_it(module):
    assert module in ORDER, f"{module} has no place in the order of modules; give it one"
    above = {f"addtree.{name}" for name in ORDER[: ORDER.index(module)]}
    ours = {name for name in imported(FILES[module]) if name.split(".")[0] == "addtree"}
    assert ours <= above | LATER.get(module, set())


@pytest.mark.parametrize("module", MODULES)
def test_the_core_imports_numpy_scipy_and_the_standard_library_alone(module):
    others = {name.split(".")[0] for name in imported(FILES[module])}
    assert others <= CORE_MAY_IMPORT | EXTRAS.get(module, set()) | set(sys.stdlib_module_names) | {"addtree"}


def test_every_module_of_the_order_exists():
    assert set(ORDER) <= set(MODULES)


def test_importing_addtree_loads_numpy_and_scipy_alone():
    code = (
        "import sys; before = set(sys.modules); import addtree; "
        "print(*{m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    out = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in out.stdout.split() if not name.startswith("_")} - {"cython_runtime"}
    loaded -= {"charset_normalizer"}  # numpy.f2py takes it where it is installed
    assert loaded == {"addtree", "numpy", "scipy"}


def test_importing_addtree_changes_no_global_state():
    code = (
        "import numpy as np, logging, warnings; "
        "state = lambda: (np.random.get_state()[1].tobytes(), np.geterr(), np.get_printoptions(), "
        "list(warnings.filters), logging.getLogger('addtree').handlers, logging.getLogger().handlers); "
        "import scipy.optimize, scipy.linalg, scipy.sparse.csgraph, scipy.special; "
        "before = state(); import addtree; assert state() == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_public_names_are_there():
    for name in addtree.__all__:
        assert getattr(addtree, name) is not None
