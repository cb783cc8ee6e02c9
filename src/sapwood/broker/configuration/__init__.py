"""The configuration of a broker: one table of options, and three ways to give them.

On the command line, in variables of the environment, in a file. It touches no socket.
"""
