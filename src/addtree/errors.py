"""The exceptions of addtree. Each message names the thing, its value and the remedy."""


class AddTreeError(Exception):
    """Base of every exception that addtree raises on purpose."""


class SpaceError(AddTreeError, ValueError):
    """A parameter, choice or space is defined in a way that cannot work."""


class ConfigError(AddTreeError, ValueError):
    """A configuration does not belong to its space."""


class TrialError(AddTreeError, ValueError):
    """A trial is unknown, already told, or told a value that is no number."""


class OptionError(AddTreeError, ValueError):
    """An argument of the optimizer or the model is not one of those it can take."""


class SaveFileError(AddTreeError, ValueError):
    """A save file is missing, damaged, or written by a newer version."""
