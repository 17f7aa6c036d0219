"""The optimizers that addtree is compared with, in the paper's experiments and in the benchmark."""
