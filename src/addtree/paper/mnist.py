"""MNIST as arrays: from a folder with the four idx files, or through scikit-learn.

| symbol | meaning | shape |
|---|---|---|
| X | images, grey values in [0, 1] | n x 784, float32 |
| t | labels 0 to 9 | n, int64 |
"""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from addtree.errors import DataError

N_TRAIN = 60_000  # OpenML stores MNIST as one set, in which the training images come first.
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


@dataclass(frozen=True)
class Mnist:
    """The training and the test images of MNIST, with their labels."""

    X: NDArray[np.float32]
    t: NDArray[np.int64]
    X_test: NDArray[np.float32]
    t_test: NDArray[np.int64]


def load(data: Path | None = None) -> Mnist:
    """MNIST from `data` (a folder that contains mnist/), or else from the folder ADDTREE_DATA, or else by download."""
    folder = data or (Path(os.environ["ADDTREE_DATA"]) if os.environ.get("ADDTREE_DATA") else None)
    if folder is not None:
        where = folder / "mnist"
        X, t, X_test, t_test = (read_idx(where / name) for name in FILES)
        return Mnist(_images(X), t.astype(np.int64), _images(X_test), t_test.astype(np.int64))
    return _download()


def read_idx(path: Path) -> NDArray[np.uint8]:
    """One idx file of bytes, packed (.gz) or not. Byte 3 is the number of axes; their lengths and the data follow."""
    packed = path.with_name(path.name + ".gz")
    if path.exists():
        raw = path.read_bytes()
    elif packed.exists():
        raw = gzip.decompress(packed.read_bytes())
    else:
        raise DataError(f"{path} is missing, packed (.gz) or not; put the four MNIST files there, or leave --data out")
    axes = raw[3]
    shape = np.frombuffer(raw, ">u4", count=axes, offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(tuple(int(n) for n in shape))


def _images(raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    pixels: NDArray[np.float32] = raw.reshape(len(raw), -1).astype(np.float32)
    pixels /= 255
    return pixels


def _download() -> Mnist:
    try:
        from sklearn.datasets import fetch_openml

        X, t = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False, parser="liac-arff")
    except Exception as error:  # without scikit-learn, a network or the server, the remedy is the same
        raise DataError(
            "the compression experiment needs MNIST: give a folder that contains mnist/ with the four idx files by "
            f"--data or ADDTREE_DATA, or install scikit-learn and allow it to download mnist_784 ({error})"
        ) from error
    X, t = _images(np.asarray(X)), np.asarray(t).astype(np.int64)
    return Mnist(X[:N_TRAIN], t[:N_TRAIN], X[N_TRAIN:], t[N_TRAIN:])
