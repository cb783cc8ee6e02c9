"""The matching engines of the published works: faithful, measured, for comparison.

Users get `columnar` and `path-automaton` without asking; these have names in the same catalogue.
"""
