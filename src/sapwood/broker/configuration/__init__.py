"""What a broker is told: one table of options, and the three ways in which they are given.

On the command line, in variables of the environment, in a file. It touches no socket.
"""
