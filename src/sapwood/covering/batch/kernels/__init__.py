"""The loops of `compile`, each with a plain twin.

`compiled` imports numba and is imported late, for large groups only; `plain` holds the same
functions written for reading.
"""
