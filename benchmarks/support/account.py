"""An account of a study whose workers were killed: every evaluation is noted in a file beside the storage."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import TrialState

from addtree.study.tickets import is_lost


class Account:
    """A file with one line for each evaluation that began."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger

    def note(self, config: Mapping[str, Any]) -> None:
        """Note that an evaluation begins; the line is written at once or not at all."""
        descriptor = os.open(self._ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, (_key(config) + "\n").encode())
        finally:
            os.close(descriptor)

    def n_noted(self) -> int:
        """The number of evaluations that began so far."""
        return len(self._lines())

    def _lines(self) -> list[str]:
        return self._ledger.read_text().splitlines() if self._ledger.exists() else []

    def balances(self, study: optuna.Study, total: int, objective: Callable[[Mapping[str, Any]], float]) -> bool:
        """Print what became of every trial; returns whether nothing was lost, doubled, stuck or changed."""
        trials = study.get_trials(deepcopy=False)
        lost = [t for t in trials if is_lost(t)]
        finished = [t for t in trials if t.state.is_finished() and not is_lost(t)]
        complete = [t for t in finished if t.state == TrialState.COMPLETE]
        configs = Counter(_key(t.params) for t in complete)
        noted = Counter(self._lines())
        given_up = Counter(_key(t.params) for t in trials if t.state == TrialState.FAIL)
        retries = Counter(t.system_attrs.get("addtree:retry_of") for t in trials)
        errors = {
            "missing": total - len(finished),
            "stuck": sum(t.state == TrialState.RUNNING for t in trials),
            "duplicate": sum(n - 1 for n in configs.values()),
            "repeated more than once": sum(retries[t.number] > 1 for t in lost),
            "with a wrong value": sum(t.value != objective(t.params) for t in complete),
            "complete but never evaluated": sum((configs - noted).values()),
            "evaluated but unknown": sum((noted - configs - given_up).values()),
        }
        print(
            f"{len(finished)} finished ({len(finished) - len(complete)} failed), {sum(noted.values())} evaluations, "
            f"{len(lost)} lost with their workers; " + ", ".join(f"{n} {what}" for what, n in errors.items()),
            flush=True,
        )
        return not any(errors.values())


def _key(config: Mapping[str, Any]) -> str:
    """A configuration as text, whatever the order of its parameters."""
    return json.dumps(dict(config), sort_keys=True)
