"""The trials of a run: `Trial`, and `Evaluation` for how the evaluation of one went."""

from addtree.run.trials import Evaluation, State, Trial

__all__ = ["Evaluation", "State", "Trial"]
