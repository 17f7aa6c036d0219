"""The direction of imports, and what an import of the package may load."""

import subprocess
import sys

import addtree


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
