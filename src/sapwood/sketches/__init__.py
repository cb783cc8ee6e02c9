"""Sketches of sets: small, quick to change, joined without the sets, compared by their bits.

Shen 5.5. A *Bloom filter* (`bloom.py`) travels; a *counting* one (`counting.py`) stays beside its
set and follows it. Elements are 64-bit numbers (`elements.py`). `accuracy.py` has the error rates
of comparisons. This room depends on no filter, router or message: any set of values that can be
written as bytes can be sketched.
"""
