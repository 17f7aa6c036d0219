"""What to evaluate next.

design       the initial design, all at once or row by row
acquisition  the worth of an evaluation, from mean and variance
ascent       local maximisation of many points at once
pathwise     draws from the posterior, as functions
view         what a search sees of the model: the posterior, or a draw
candidates   configurations to score
decomposed   the search for acquisitions that add up over vertices (the paper's Algorithm 2)
joint        the search for all others
policy       what one suggestion looks for, and where
"""
