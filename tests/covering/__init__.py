"""Tests of covering, and where each statement about Shen's work (2007, chapter 4) is checked.

* T-9, indexes agree with brute force: `laws.py` under every index, `sfc/test_index.py`;
  of matching: `tests/matching/test_differential.py`
* T-10, covering is dominance among points: `tests/matching/published/kdtree/test_boxes.py`,
  `test_hull.py`, `columnar/test_points.py`
* T-11, dense graph, poset and forest: `published/test_dense.py`,
  `tests/matching/published/posets/test_hasse.py` and `test_forest.py`
* T-12, flat graphs after every operation, the neighbor between any two messages: `test_manager.py`
  (`History`), `test_flat.py`
* T-13, property 1 where no wide filter comes late, and T-17, all graphs then propagate the same:
  `test_manager.py` (`test_property_1_holds_...`)
* T-14 and T-15, lemma 1 and theorem 1, the questions asked: `test_manager.py` (`PlainHistory`,
  `test_questions_of_removals_...`)
* T-16, repeated filters are only counted: `test_manager.py` (`test_a_repeated_filter_...`)
* T-17, all combinations deliver the same: `test_manager.py` (`History.publish`); in overlays
  `tests/simulation/test_protocols.py`
* T-18, standard cubes: `sfc/test_cubes.py`, `sfc/test_curves.py`
* T-19, runs and cubes: `sfc/test_runs.py`
* T-20, truncated rectangles: `sfc/test_rectangles.py`
* T-21 and T-22, the greedy partition and its closed forms: `sfc/test_decomposition.py`
* T-23 to T-26, bounds on cubes and runs: `sfc/test_bounds.py`
* T-25 and T-27, the approximate search: `sfc/test_search.py`, `sfc/test_bounds.py`
* T-28, a manager over the approximate index: `sfc/test_approximate_covering.py`
"""
