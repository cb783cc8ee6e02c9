"""Published figures and tables, made again: one module each, and a catalogue of them by name.

An experiment measures what the work measured, on a workload of the same kind, and puts its
figures beside the published ones. What can be compared are orders, ratios and shapes: machines,
languages and data are others.
"""
