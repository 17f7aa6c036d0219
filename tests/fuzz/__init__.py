"""Mutated save files and spaces: each is refused with a documented exception, or works.

    python -m tests.fuzz [--count 20000] [--seed 0] [--workers 2] [--targets save space]
    python -m tests.fuzz --targets save --case 1234     # one case again, with its traceback

    mutations  changes of JSON documents and of bytes
    targets    what is mutated, and what is done with the result; add a target for each new kind of input
    runner     runs cases under limits of time and memory, and counts the outcomes

A field that is added to the save format is fuzzed as soon as one of the runs in `targets` writes it.
"""
