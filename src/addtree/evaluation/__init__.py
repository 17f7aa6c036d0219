"""How objectives are evaluated, one trial after the other or several at once.

outcome   one evaluation: its value, or why it failed and where
workers   evaluations in this process or in processes of their own
progress  the progress of a run in a terminal or a notebook
loop      starting trials, collecting their values, saving, and knowing when to stop
minimize  `minimize` and its `Result`
"""
