"""Every exception of addtree. A message names the parameter or file, its value, and what to do about it."""


class AddTreeError(Exception):
    """Base class of every exception that addtree raises on purpose."""


class SpaceError(AddTreeError, ValueError):
    """The definition of a parameter, choice or space is invalid."""


class ConfigError(AddTreeError, ValueError):
    """A configuration does not belong to its space."""


class TrialError(AddTreeError, ValueError):
    """A trial is unknown, has already been told, or was told a value that is not a number."""


class OptionError(AddTreeError, ValueError):
    """An argument of the optimizer, the model or the sampler is invalid."""


class SaveFileError(AddTreeError, ValueError, OSError):
    """A save file is missing, damaged, cannot be written, or was written by a newer version."""


class TaskError(AddTreeError, ValueError):
    """A user's file does not define a usable space and objective."""


class ObjectiveError(AddTreeError, ValueError):
    """The objective returned something other than a finite number."""


class StudyError(AddTreeError, ValueError):
    """A study does not exist, or belongs to another space or direction."""


class StorageError(AddTreeError):
    """A storage is unreachable, damaged, read-only, or unknown."""


class NoSuccessError(AddTreeError):
    """Every trial of a run failed. `reason` is the error of the last one, and `traceback` its traceback."""

    def __init__(self, message: str, reason: str | None = None, traceback: str | None = None) -> None:
        super().__init__(message)
        self.reason, self.traceback = reason, traceback


class DependencyError(AddTreeError, ImportError):
    """An optional package is not installed."""


class WorkerError(AddTreeError):
    """A worker process cannot start, or cannot load the objective."""


class InterruptedRunError(AddTreeError):
    """The user interrupted a run."""


class OutputError(AddTreeError):
    """The output of a command cannot be written."""


class ReportError(AddTreeError):
    """A report cannot be written."""


class DataError(AddTreeError):
    """The data of an experiment cannot be found or read."""


class BaselineError(AddTreeError):
    """A baseline of the paper cannot run, because its own environment is missing or broken."""
