"""The loops that must be compiled, each with a plain twin but for `fetching`.

`compiled` imports numba and is imported late, on the first match; `plain` holds the same functions
written for reading, without regard to speed: linear searches, and every conjunction tried.
"""
