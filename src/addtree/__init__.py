"""Bayesian optimization for conditional parameter spaces.

Some parameters exist only after a choice: which model, and then its own hyperparameters. addtree models such a space by
a Gaussian process that follows the tree of choices, so that what it learns in one branch helps in the others.

    Space      parameters (`Real`, `Integer`, `Categorical`) and choices that are active together
    Choice     a choice between options, each of which opens a space of its own
    minimize   evaluates an objective n times and returns the best configuration
    Optimizer  the same by ask and tell, for your own loop; it can be saved and loaded
    AddTreeGP  the regression model alone

>>> import addtree as at
>>> space = at.Space(shift=at.Real(-1, 1), model=at.Choice(line=at.Space(), curve=at.Space(bend=at.Real(-1, 1))))
>>> def objective(config):
...     return config["shift"] ** 2 + (config["bend"] ** 2 if config["model"] == "curve" else 0.5)
>>> result = at.minimize(objective, space, n_trials=20, seed=0)
>>> result.best_config["model"], result.best_value < 1e-3
('curve', True)

Every exception derives from `AddTreeError`. `addtree.optuna`, `addtree.sklearn`, `addtree.configspace` and
`addtree.report` need optional dependencies, so `import addtree` does not import them.
"""

from addtree.errors import (
    AddTreeError,
    BaselineError,
    ConfigError,
    DataError,
    DependencyError,
    InterruptedRunError,
    NoSuccessError,
    ObjectiveError,
    OptionError,
    OutputError,
    ReportError,
    SaveFileError,
    SpaceError,
    StorageError,
    StudyError,
    TaskError,
    TrialError,
    WorkerError,
)
from addtree.evaluation.minimize import Result, minimize
from addtree.optimizer import Optimizer
from addtree.regression import AddTreeGP
from addtree.space import Categorical, Choice, Integer, Real, Space
from addtree.trials import Trial

__version__ = "0.1.0"

__all__ = [
    "AddTreeError",
    "AddTreeGP",
    "BaselineError",
    "Categorical",
    "Choice",
    "ConfigError",
    "DataError",
    "DependencyError",
    "Integer",
    "InterruptedRunError",
    "NoSuccessError",
    "ObjectiveError",
    "Optimizer",
    "OptionError",
    "OutputError",
    "Real",
    "ReportError",
    "Result",
    "SaveFileError",
    "Space",
    "SpaceError",
    "StorageError",
    "StudyError",
    "TaskError",
    "Trial",
    "TrialError",
    "WorkerError",
    "__version__",
    "minimize",
]
