"""`docs/tutorial-sampling.md` runs as it stands, its pictures too."""

import doctest
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[3] / "docs/tutorial-sampling.md"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # arviz's and matplotlib's own
def test_tutorial(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("arviz")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    found = doctest.testfile(str(TUTORIAL), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted > 20
