"""What the workers of a study learned: the hyperparameters of the last fit, as a system attribute of the study.

A fit takes much longer than a suggestion, and all workers would fit nearly the same trials. The first worker whose fit
is due therefore stores what it learned, and the others start from that. Fits are rare, so the attribute is rarely
written, and a worker reads it only if its own fit is due.
"""

from __future__ import annotations

import zlib
from typing import Any

from optuna.storages import BaseStorage

from addtree._optuna.trials import PIECE_LENGTH
from addtree.run.save_schema import MODEL_FIELDS, check_fields
from addtree.space.space import Space

FIT = "addtree:fit"
"""System attribute of a study: `Optimizer.learned` as "fits", and the checksum of the space that it belongs to."""

_MIN_TRIALS = 40  # A fit to fewer trials than this is so fast that it is not shared.
_DECIMALS = 4  # The hyperparameters are logarithms, and the model does not depend on more decimals than this.


class SharedFit:
    """The place where the workers of one study share what they learned."""

    def __init__(self, storage: BaseStorage, study_id: int) -> None:
        self._storage, self._study_id = storage, study_id

    def read(self, space: Space) -> list[dict[str, Any]] | None:
        """What was learned about this space, checked; None if there is nothing, or something damaged."""
        found = self._storage.get_study_system_attrs(self._study_id).get(FIT)
        if not isinstance(found, dict) or found.get("space") != _checksum(space):
            return None
        fits = found.get("fits")
        if not isinstance(fits, list) or not all(isinstance(fit, dict) for fit in fits):
            return None
        try:
            for fit in fits:
                check_fields(fit, MODEL_FIELDS)
        except ValueError:
            return None
        return fits

    def write(self, space: Space, learned: list[dict[str, Any]]) -> None:
        """Store what was learned about this space, unless it is too little or too long."""
        fits = [{**fit, "theta": [round(entry, _DECIMALS) for entry in fit["theta"]]} for fit in learned]
        stored: dict[str, Any] = {"fits": fits, "space": _checksum(space)}
        if learned[0]["n"] >= _MIN_TRIALS and len(str(stored)) <= PIECE_LENGTH:
            self._storage.set_study_system_attr(self._study_id, FIT, stored)


def _checksum(space: Space) -> int:
    """A number that differs for spaces that differ, also in the order of their parameters."""
    return zlib.crc32(repr(space).encode(errors="surrogatepass"))
