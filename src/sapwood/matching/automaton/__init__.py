"""The default engine of documents: a path automaton, determinized as documents come.

1. `names.py`       names as numbers: the tests of patterns, and those that a document's names pass.
2. `access.py`      a pattern becomes an access path, an equality to be found by hashing where it
                    has one, and the condition that is left to be checked.
3. `paths.py`       the access paths of all patterns as one trie.
4. `states.py`      the automaton: one state for each label path that a document had, with the
                    trie's nodes that it reaches; brought up to date, not rebuilt, when paths are
                    added.
5. `conditions.py`  conditions as one table, each distinct one once.
6. `encoding.py`    a document's content as arrays.
7. `postings.py`    the values of a node, an equality or a target: lists in one array.
8. `targets.py`     patterns as numbers, each distinct combination once.
9. `tables.py`      all these tables together: an engine can be made of them; `storing.py` saves
  them.
10. `engine.py`     adding, removing and matching with `kernels`.

Source: the lazy automaton of Green, Miklau, Onizuka and Suciu (Processing XML streams with
deterministic automata, ICDT 2003), whose states are sets of positions reached by a label path; here
a state is the label path itself, because that needs no sets to be compared and lets new paths join.
"""

from sapwood.matching.automaton.engine import PathAutomatonEngine

__all__ = ["PathAutomatonEngine"]
