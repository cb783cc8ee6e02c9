from pathlib import Path

from sapwood.matching.unbatched import UnbatchedEngine


class Longer(UnbatchedEngine[int, str]):
    """Accepts texts that are longer than a number."""

    def __init__(self) -> None:
        self.bounds: dict[int, int] = {}

    def add(self, slot: int, wanted: int, /) -> None:
        self.bounds[slot] = wanted

    def match(self, subject: str, /) -> list[int]:
        return sorted(slot for slot, bound in self.bounds.items() if len(subject) > bound)


def test_all_other_answers_follow_from_the_matches(tmp_path: Path) -> None:
    engine = Longer()
    engine.load(tmp_path, [(0, 1), (2, 3)])
    engine.fold()
    engine.save(tmp_path)
    assert not list(tmp_path.iterdir())
    assert [engine.match_count(text) for text in ("", "ab", "abcd")] == [0, 1, 2]
    assert [engine.match_any(text) for text in ("", "ab")] == [False, True]
    offsets, slots = engine.match_slots(["abcd", "", "ab"])
    assert (offsets.tolist(), slots.tolist()) == ([0, 2, 2, 3], [0, 2, 0])
