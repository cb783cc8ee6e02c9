"""The loops of the path automaton, compiled, each with a plain twin.

`compiled` imports numba and is imported late; `plain` has the same functions written for reading.
"""
