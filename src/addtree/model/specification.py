"""What a model is asked to be, before it has seen any data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from addtree.errors import OptionError
from addtree.model.kernel import Kernel
from addtree.model.priors import Priors
from addtree.model.terms import check_covariance, make_terms
from addtree.model.transform import TransformSettings
from addtree.space.encoding import Encoding
from addtree.support.numbers import as_float, is_number

INFERENCES = ("map", "mle")


@dataclass(frozen=True)
class Specification:
    """The kind of model.

    covariance  which terms the kernel has (see `terms`)
    inference   "map" maximises the posterior of the hyperparameters, "mle" their likelihood
    noise       standard deviation of an evaluation in the units of the objective, or None to learn it
    transform   how extreme values are compressed and the output transform is learned; None only standardises
    priors      priors of the hyperparameters, used by "map"
    """

    covariance: str = "additive+interactions"
    inference: str = "map"
    noise: float | None = None
    transform: TransformSettings | None = None
    priors: Priors = Priors()

    def __post_init__(self) -> None:
        check_covariance(self.covariance)
        if self.inference not in INFERENCES:
            raise OptionError(f"inference={self.inference!r} is unknown; use one of {', '.join(map(repr, INFERENCES))}")
        check_noise(self.noise)

    @property
    def as_published(self) -> bool:
        """Whether this is the paper's kernel.

        Then y is not transformed, and it is not centred, so that unseen branches look promising.
        """
        return self.covariance == "additive"

    @property
    def learned_transform(self) -> TransformSettings | None:
        """The settings of the transform that is learned; None where y is only standardised."""
        return None if self.as_published else self.transform

    def make_kernel(self, encoding: Encoding) -> Kernel:
        """The kernel over the columns of a space."""
        return Kernel(make_terms(encoding, self.covariance), tuple(encoding.n_codes.tolist()))


def check_noise(noise: Any, argument: str = "noise") -> None:
    """Raise an OptionError unless this is a standard deviation, or None."""
    if noise is not None and not (is_number(noise) and 0 <= as_float(noise) < np.inf):
        raise OptionError(
            f"{argument}={noise!r} must be None (learn it), or a standard deviation of zero or more, in the "
            "objective's units"
        )
