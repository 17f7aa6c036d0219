"""What one run of ask and tell consists of. `addtree.optimizer` joins these parts.

goals        objectives and constraints, and the values that must be told of them
trials       what was asked for, and what was told
history      earlier studies of related problems
settings     what an experiment may change
models       what the run has learned: one surrogate for each value
prediction   what the models predict, in the units of the values told
suggestion   one suggestion: from the initial configurations, the design or the models
save_format  the save file, and its versions
save_schema  what a save file must contain
display      the run as text, in a notebook, as a table and as a figure
"""
