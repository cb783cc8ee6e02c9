"""Sketches of sets: small, quick to change, joined without the sets, compared by their bits.

Shen 5.5. A *Bloom filter* (`bloom.py`) travels; a *counting* one (`counting.py`) stays where the
set is and follows it. Elements are 64-bit numbers (`elements.py`). `accuracy.py` says how often a
comparison errs. The room knows no filter, no router and no message: whoever has a set of anything
that can be written as bytes can use it.
"""
