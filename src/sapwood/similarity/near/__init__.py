"""Near pairs of a set of filters: all whose proximity is at least a threshold, and none missed.

The proximity f_s of two filters is the mean of their similarities in both directions, each at most
1. So where it is t, both are at least 2 t - 1; above t = 1/2 that is more than 0, and bounds of a
  similarity from the algebra of filters rule pairs out: of tree patterns by the names that they
  require (`patterns.py`), of record filters by their attributes and the hulls of their values
  (`boxes.py`). Up to 1/2 one direction alone may make a pair near, whatever the other is: such
  thresholds are refused.

Filters that may be near meet by *labels*: a filter is stored under few of them, and searches under
all that a filter near to it may be stored under (`blocks.py`). So the work can be done block by
block, by one process (`pairs.py`) or by tasks of Spark (`sapwood.pipeline.similarity`).
"""
