"""The experiments of Ma & Blaschko (AISTATS 2020) and the methods they compare.

baselines    the optimizers that addtree is compared with, shared with the benchmark
methods      all methods by name
mnist, fc3, compression   the data, the network and the objective of the compression experiment
complexity   measurements of the paper's appendices B and C
experiments  one job: one method with one seed on one experiment
runs         many jobs in several processes, resumable
claims, tables, figures, page   from results to a page
command      the command that does all of it
"""
