from __future__ import annotations

import subprocess
import sys

import pytest

from sapwood import pipeline


def test_every_public_name_is_there() -> None:
    assert dir(pipeline) == sorted(pipeline.__all__)
    for name in pipeline.__all__:
        assert getattr(pipeline, name).__module__.startswith("sapwood.pipeline.")


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = pipeline.nothing


def test_importing_the_room_imports_no_pyspark() -> None:
    code = (
        "import sys, sapwood.pipeline as p\n"
        "[getattr(p, name) for name in p.__all__]\n"
        "import sapwood.cli.pipeline\n"
        "sys.exit(sorted(m for m in ('pyspark', 'pyarrow', 'pandas', 'numba') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stderr == "[]\n"
