"""Covers of a whole set of filters at once: blocks, boxes of ranks, kernels. No Spark in it."""
