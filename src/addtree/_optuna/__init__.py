"""The Optuna sampler: reading trials, translating parameters, inferring the tree, suggesting."""
