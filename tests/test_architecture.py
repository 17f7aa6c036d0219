"""The folders are the layers: which way imports go, what a layer may need, and how large files and functions are."""

import ast
import graphlib
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

import addtree
from addtree import errors

PACKAGE = Path(addtree.__file__).parent
ROOT = PACKAGE.parents[1]

# Each layer imports only from itself and from those above it. A name is a folder or a file at the top of the package.
LAYERS = (
    ("errors", "_types"),
    ("support",),
    ("space",),
    ("model",),
    ("search",),
    ("run",),
    ("trials", "optimizer", "regression", "problems"),
    ("evaluation",),
    ("__init__",),
    ("_optuna",),
    ("optuna",),
    ("configspace",),
    ("sklearn",),
    ("study",),
    ("report",),
    ("paper",),
    ("cli",),
    ("__main__",),
    ("benchmarks",),
)
LEVEL = {name: level for level, layer in enumerate(LAYERS) for name in layer}
# What a module imports from a lower layer for its types alone, or when a function is called.
DEFERRED = {
    "run/display": {"optimizer", "report"},
    "run/history": {"optimizer"},
    "evaluation/minimize": {"report"},
}

# What a layer or a module may import besides the standard library and this package. The core needs NumPy and SciPy.
CORE = {"numpy", "scipy"}
EXTRAS = {
    "run/display": {"pandas"},
    "evaluation/progress": {"rich"},
    "evaluation/workers": {"cloudpickle"},
    "_optuna": {"optuna"},
    "optuna": {"optuna"},
    "configspace": {"ConfigSpace"},
    "sklearn": {"joblib", "sklearn"},
    "study": {"optuna", "sqlalchemy"},
    "report": {"optuna", "plotly"},
    "paper": {"ConfigSpace", "GPy", "GPyOpt", "hyperopt", "matplotlib", "sklearn", "smac"},
    "cli": {"optuna", "rich", "typer"},
}

MAX_FILE, MAX_FUNCTION, MAX_PARAMETERS = 400, 50, 7
# Functions that a user calls by keyword may have more parameters.
ENTRY_POINTS = {
    "_optuna/sampler.py: AddTreeSampler.__init__",
    "evaluation/minimize.py: minimize",
    "optimizer.py: Optimizer.__init__",
    "sklearn/search.py: AddTreeSearchCV.__init__",
    "cli/ask_tell.py: suggest",
    "cli/run.py: run",
    "paper/command.py: run",
    "report/__init__.py: write",
    "report/summary.py: build",
}

SOURCES = sorted(PACKAGE.rglob("*.py"))
FILES = [*SOURCES, *sorted((ROOT / "benchmarks").rglob("*.py"))]


def module_of(path: Path) -> list[str]:
    """The parts of a module's name, without `addtree`; a module of the benchmarks begins with `benchmarks`."""
    inside = path.is_relative_to(PACKAGE)
    parts = list(path.relative_to(PACKAGE if inside else ROOT).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


def layer_of(path: Path) -> str:
    return module_of(path)[0]


def allowed(table: dict[str, set[str]], path: Path) -> set[str]:
    """What a table allows to a module, by its own name or by that of its layer."""
    return table.get(layer_of(path), set()) | table.get("/".join(module_of(path)), set())


def imports(source: str, package: list[str]) -> Iterator[list[str]]:
    """Every module that the source of a module imports anywhere, as the parts of its absolute name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            yield from ([*base, alias.name] for alias in node.names)


def imported(path: Path) -> Iterator[list[str]]:
    root = PACKAGE.parent if path.is_relative_to(PACKAGE) else ROOT
    return imports(path.read_text(encoding="utf-8"), list(path.relative_to(root).parent.parts))


def layer_imported(name: list[str]) -> str | None:
    """The layer that an import reaches; None if it is not ours."""
    if name[0] == "benchmarks":
        return "benchmarks"
    if name[0] != "addtree":
        return None
    return name[1] if len(name) > 1 and name[1] in LEVEL else "__init__"


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=names)
def test_a_layer_imports_only_from_itself_and_those_above_it(path):
    layer = layer_of(path)
    assert layer in LEVEL, f"{layer} has no place among the layers"
    reached = {found for name in imported(path) if (found := layer_imported(name)) is not None}
    assert {found for found in reached if LEVEL[found] > LEVEL[layer]} <= allowed(DEFERRED, path)


@pytest.mark.parametrize("path", SOURCES, ids=names)
def test_a_layer_needs_only_its_own_extra(path):
    others = {name[0] for name in imported(path)} - set(sys.stdlib_module_names) - {"addtree"}
    assert others <= CORE | allowed(EXTRAS, path)


def test_every_layer_exists():
    assert {layer_of(path) for path in FILES} == set(LEVEL)


@pytest.mark.parametrize("folder", sorted(path.parent for path in PACKAGE.glob("*/__init__.py")), ids=names)
def test_a_folder_lists_its_modules(folder):
    doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    first_words = [re.match(r"\s*([\w, ]*?)(  |$)", line) for line in doc.splitlines()]
    listed = {name for words in first_words if words for name in words[1].split(", ")}
    listed |= set(re.findall(r"`(\w+)`", doc))
    assert {path.stem for path in folder.glob("[!_]*.py")} <= listed


def test_no_modules_import_each_other_in_a_circle():
    """Read from the imports at the top of the files; those for types alone and those of a function come later."""
    modules = {tuple(module_of(path)): path for path in SOURCES}
    graph = {}
    for module, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = "\n".join(ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
        package = list(path.relative_to(PACKAGE.parent).parent.parts)
        needed = [tuple(name[1:]) for name in imports(top, package) if name[0] == "addtree"]
        graph[module] = {name if name in modules else name[:-1] or ("__init__",) for name in needed}
    graphlib.TopologicalSorter(graph).prepare()


def test_relative_imports_are_read():
    source = "from ..search import policy\ndef f():\n    from .. import optimizer\nfrom . import tree\nimport numpy"
    found = [layer_imported(name) for name in imports(source, ["addtree", "space"])]
    assert sorted(map(str, found)) == ["None", "optimizer", "search", "space"]


# ---------------------------------------------------------------------- sizes


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function of a file with its name; that of a method begins with its class."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield prefix + child.name, child
                yield from walk(child, f"{prefix}{child.name}.")
            else:
                yield from walk(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), "")


@pytest.mark.parametrize("path", SOURCES, ids=names)
def test_files_and_functions_stay_small(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE
    where = path.relative_to(PACKAGE).as_posix()
    long = {name for name, node in functions(path) if (node.end_lineno or 0) - node.lineno + 1 > MAX_FUNCTION}
    wide = {f"{where}: {name}" for name, node in functions(path) if n_parameters(node) > MAX_PARAMETERS}
    assert (long, wide - ENTRY_POINTS) == (set(), set())


def n_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The number of parameters, without self and cls."""
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([a for a in given if a.arg not in ("self", "cls")])


# ---------------------------------------------------------------------- patched globals

TESTS_AND_BENCHMARKS = [*sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "benchmarks").rglob("*.py"))]


@pytest.mark.parametrize("path", TESTS_AND_BENCHMARKS, ids=names)
def test_nobody_patches_a_module(path):
    """Settings are passed as objects. Only the command line's arguments may be replaced."""
    patched = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            target = ast.unparse(node.args[0]) if node.args else ""
            if called.endswith((".setattr", ".delattr", ".setitem", ".delitem", "patch", "patch.object")):
                patched += [ast.unparse(node)] * (target != "sys")
            elif called == "setattr":
                patched.append(ast.unparse(node))
    assert patched == []


# ---------------------------------------------------------------------- the import of the package


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


def test_the_version_is_that_of_the_distribution():
    assert addtree.__version__ == metadata.version("addtree")


def test_every_exception_is_defined_in_one_place_and_exported():
    defined = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert defined <= set(addtree.__all__)
    elsewhere = [
        f"{path.name}: {node.name}"
        for path in SOURCES
        if path.stem != "errors"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error") and not node.name.startswith("_")
    ]
    assert elsewhere == []


@pytest.mark.parametrize(
    ("module", "package", "name", "extra"),
    [
        ("optuna", "optuna", "Optuna", "optuna"),
        ("sklearn", "sklearn", "scikit-learn", "sklearn"),
        ("configspace", "ConfigSpace", "ConfigSpace", "configspace"),
    ],
)
def test_without_its_package_the_error_of_an_integration_names_the_extra(module, package, name, extra):
    code = f"import sys; sys.modules[{package!r}] = None; import addtree.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    message = f"addtree.{module} needs {name}; pip install 'addtree[{extra}]'"
    assert done.stderr.splitlines()[-1] == f"addtree.errors.DependencyError: {message}"


def test_minimize_is_a_function_and_not_a_module():
    assert addtree.minimize is addtree.evaluation.minimize.minimize
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("addtree.minimize")
