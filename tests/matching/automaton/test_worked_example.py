"""The three XPaths of docs/matching.md: every array that the page prints is the engine's."""

from __future__ import annotations

from sapwood.language.xpath import parse_xpath
from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.xml import read_document
from tests.matching.printed import patterns, printed

DOCUMENT = b"<a><b c='x'/><d k='1'/></a>"


def test_page_prints_the_arrays_of_the_automaton() -> None:
    engine = PathAutomatonEngine(kernels="plain")
    for slot, text in enumerate(patterns(4)):
        engine.add(slot, parse_xpath(text))
    document = read_document(DOCUMENT)
    matches = engine.match(document)
    _, states = engine._walk(document)
    targets = [engine._targets[number] for number in range(len(engine._targets))]
    held = engine._states.held()
    assert printed(4) == {
        **{f"trie.{name}": [*map(int, v)] for name, v in engine._paths.trie()._asdict().items()},
        "targets.node": [target.node for target in targets],
        "targets.equality": [target.equality for target in targets],
        "targets.condition": [target.condition for target in targets],
        "slots.target": engine._slots.keys.tolist(),
        "plain": engine._plain.view.tolist(),
        "by_node": engine._by_node.keys.tolist(),
        "by_equality": engine._by_equality.keys.tolist(),
        "document.parents": list(document.parents),
        "document.states": states,
        "states.parents": engine._states._parents.view.tolist(),
        "states.starts": held.starts.tolist(),
        "states.sizes": held.sizes.tolist(),
        "states.nodes": held.nodes.tolist(),
        "document.matches": matches,
    }
    assert [test.local for test in engine._names.tests] == ["a", "b", "c", "d", "k", "e"]
