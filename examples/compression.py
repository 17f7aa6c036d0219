"""Compress a network: for each of two layers choose SVD or weight pruning, then its rank or its threshold.

addtree run examples/compression.py --trials 80 --seed 0

The network (784-1000-1000-10) is first trained on MNIST, which takes about a minute, and then kept in `build/paper`.
If the environment variable ADDTREE_DATA names a folder, MNIST is read from its subfolder `mnist`; otherwise it is
downloaded with scikit-learn. The objective is the paper's: 0.01 times the squared distance of the outputs, plus the
share of weights that remain.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from addtree.paper.compression import two_choices
from addtree.paper.experiments import compressor

space = two_choices()


def objective(config: Mapping[str, Any]) -> float:
    """The loss of the compressed network."""
    data = os.environ.get("ADDTREE_DATA")
    return compressor(Path("build/paper"), Path(data) if data else None)(config)
