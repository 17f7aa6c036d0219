"""What to evaluate next.

design          the initial design, all at once or row by row
acquisition     the worth of an evaluation, from mean and variance
hypervolume     the front of several objectives, and what an evaluation is expected to add to it
ascent          local maximisation of many points at once
pathwise        draws from the posterior, as functions
view            what a search sees of the model: the posterior, or a draw
criterion       what a joint search maximises: an acquisition, or a sum of several
candidates      configurations to score
decomposed      the search for acquisitions that add up over vertices (the paper's Algorithm 2)
joint           the search for all others
model_free      rows that ignore the model, for turns in which it is probably wrong
multiobjective  what a suggestion looks for with several objectives or constraints
noisy           what it looks for if values are noisy: top-two Thompson sampling
failures        how it avoids evaluations that fail
cost            how it prefers evaluations that are cheap
policy          all of this in one suggestion: what it looks for, and where
fallback        rows to evaluate if the search finds none
"""
