"""The compilation of kernels to machine code: once a set, each function once, kept in one file.

1. `signatures.py`  the types of a kernel's arguments, from its annotations.
2. `kernels.py`     a function as numba compiles it: by itself, or as a part of others.
3. `places.py`      the folders of compiled code, and locks on its files (imports no numba).
4. `libraries.py`   the entries of a set and all functions that they call, as one library.
5. `notice.py`      the sentence that is logged before a set is compiled.
numba's own decorators compile each function into a library of its own: every callee is optimized
and written as machine code by itself, again in each of its callers, and again in the callers of
these. Here a function that other kernels call stays intermediate code, and is optimized once, in
the library of the entries of its set. docs/benchmarks/kernels.md has the figures.
"""
