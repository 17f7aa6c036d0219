"""Compress a network, with error and size as two objectives: one front instead of one weight between them.

addtree run examples/compression_front.py --trials 60 --seed 0

This is the paper's compression problem of `compression.py`, which minimises 0.01 times the error plus the size. Every
weight between the two has its optimum on the front, so one run answers the question for all of them. The error is the
squared distance of the outputs from those of the whole network, and the size is the share of weights that remain.

The network is first trained on MNIST, which takes about a minute, and then kept in `build/paper`. If the environment
variable ADDTREE_DATA names a folder, MNIST is read from its subfolder `mnist`; otherwise it is downloaded with
scikit-learn.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from addtree.paper.compression import two_choices
from addtree.paper.experiments import compressor

space = two_choices()
objectives = {"error": "min", "size": "min"}


def objective(config: Mapping[str, Any]) -> dict[str, float]:
    """The error and the size of the compressed network."""
    data = os.environ.get("ADDTREE_DATA")
    error, size = compressor(Path("build/paper"), Path(data) if data else None).parts(config)
    return {"error": error, "size": size}
