"""What an experiment may change about an optimizer."""

from __future__ import annotations

from dataclasses import dataclass

from addtree.model.fit import FitSettings
from addtree.model.priors import Priors
from addtree.model.success import SuccessSettings
from addtree.model.transfer import TransferSettings
from addtree.model.transform import TransformSettings
from addtree.search.design import DesignSettings
from addtree.search.policy import Policy


@dataclass(frozen=True)
class Settings:
    """What an experiment may change and a user need not. It is not part of the stable interface, and it is not saved.

    design     the initial design
    fit        fits under inference="map"
    mle_fit    fits under inference="mle", whose likelihood has several optima
    priors     priors of the hyperparameters
    transform  the output transform
    success    the model of the probability of success
    transfer   what is learned from earlier tasks
    policy     what suggestions look for; its acquisition is that of the optimizer
    """

    design: DesignSettings = DesignSettings()
    fit: FitSettings = FitSettings()
    mle_fit: FitSettings = FitSettings(restarts=2, warm_iterations=100)
    priors: Priors = Priors()
    transform: TransformSettings = TransformSettings()
    success: SuccessSettings = SuccessSettings()
    transfer: TransferSettings = TransferSettings()
    policy: Policy = Policy()
