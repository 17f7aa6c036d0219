"""The Gaussian process: its kernel, exact inference, and the surrogate that the search and the report use."""
