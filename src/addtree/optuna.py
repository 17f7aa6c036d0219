"""The Optuna sampler of addtree: `AddTreeSampler`. It needs `pip install 'addtree[optuna]'`."""

from addtree.errors import DependencyError

try:
    import optuna as _optuna  # noqa: F401
except ImportError as error:
    raise DependencyError("addtree.optuna needs Optuna; pip install 'addtree[optuna]'") from error

from addtree._optuna.sampler import AddTreeSampler

__all__ = ["AddTreeSampler"]
