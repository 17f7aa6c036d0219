"""Hyperparameter search for scikit-learn: `AddTreeSearchCV`. It needs `pip install 'addtree[sklearn]'`.

domains  lists and scipy.stats distributions as domains
spaces   scikit-learn's dict or list of dicts as a Space
search   `AddTreeSearchCV`
"""

from addtree.errors import DependencyError

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise DependencyError("addtree.sklearn needs scikit-learn; pip install 'addtree[sklearn]'") from error

from addtree.sklearn.search import AddTreeSearchCV

__all__ = ["AddTreeSearchCV"]
