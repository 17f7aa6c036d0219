"""Small helpers, which know nothing of optimization.

callables   functions that users give
files       writing files whole or not at all
interrupts  stopping on a signal
numbers     what counts as a number when a user gives one
processes   child processes, none of which outlives its parent
threads     one BLAS thread while this package computes, and locks
"""
