"""What to evaluate next: the initial design, acquisition functions, and how they are maximised."""
