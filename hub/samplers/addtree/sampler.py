"""The sampler is part of the package addtree; this module makes it available through OptunaHub."""

try:
    from addtree.optuna import AddTreeSampler
except ModuleNotFoundError as error:
    if error.name != "addtree":
        raise
    raise ImportError(
        "AddTreeSampler needs the package addtree; run pip install 'addtree[optuna]'", name="addtree"
    ) from error

__all__ = ["AddTreeSampler"]
