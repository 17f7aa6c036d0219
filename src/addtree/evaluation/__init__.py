"""How objectives are evaluated: one evaluation, in this process or in others, and the loop of `minimize`."""
