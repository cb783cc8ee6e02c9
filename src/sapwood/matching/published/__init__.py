"""The matching engines of the published works: faithful, measured, for comparison.

Users get `columnar` and `path-automaton` by default; these engines have names in the same
catalogue.
"""
