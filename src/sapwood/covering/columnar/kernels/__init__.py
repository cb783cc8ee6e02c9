"""The loops that must be compiled, each with a plain twin.

`compiled` imports numba and is imported late, when there are many filters; `plain` holds the same
functions written for reading, without regard to blocks and their extremes.
"""
