"""A plugin of pytest: of all files, only those with an example in a docstring are collected as doctests.

pytest would import each file and look at each object in it, which takes seconds in every worker.
"""

from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule) or has_examples(file_path)]


def has_examples(file: Path) -> bool:
    return ">>> " in file.read_text(encoding="utf-8")
