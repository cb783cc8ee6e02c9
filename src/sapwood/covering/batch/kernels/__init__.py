"""The loops of `batch`, each with a plain twin.

`compiled` imports numba and is imported late, for large groups only; `plain` has the same functions
written for reading.
"""
