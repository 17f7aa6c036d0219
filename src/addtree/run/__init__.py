"""What one run of ask and tell consists of: goals, trials, models, suggestions and predictions, and the save file.

`addtree.optimizer` joins these parts.
"""
