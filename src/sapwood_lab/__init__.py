"""The laboratory beside Sapwood: workloads, benchmarks, experiments, sweeps.

It may import all of `sapwood`; nothing in `sapwood` imports it. A reader of the product never has
to open it.
"""
