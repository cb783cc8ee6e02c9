"""Hostile inputs for whatever reads bytes or text of others, millions of them, each judged.

`python -m sapwood_lab.fuzz` (`make fuzz-bytes`) draws inputs for each target: mutations of valid
ones, and what small grammars give. The law is that of `driver.judged`: a value or a documented
error, the same twice, soon.
"""
