"""The small examples, run as programs, print what they are meant to show."""

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def output(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> str:
    """The output of an example that is run as a program."""
    runpy.run_path(str(EXAMPLES / f"{request.param}.py"), run_name="__main__")
    return capsys.readouterr().out


@pytest.mark.parametrize("output", ["fibonacci"], indirect=True)
def test_fibonacci(output: str) -> None:
    assert "fibonacci([3 7 4 5]) = [ 3 21  5  8]" in output
    assert re.search(r"push_jump fibonacci\.\S+, return to fibonacci\.", output)
    assert re.search(r"^fibonacci\.\S+ +\d+ +20 ", output, re.MULTILINE), "one block adds, 20 times"


@pytest.mark.parametrize("output", ["even_odd"], indirect=True)
def test_even_odd(output: str) -> None:
    assert "        1 is odd\n        2 is even\n      201 is odd\n1,000,000 is even\n" in output
    assert "Variables with a stack: none" in output


@pytest.mark.parametrize("output", ["ackermann"], indirect=True)
def test_ackermann(output: str) -> None:
    rows = [line.split()[1:] for line in output.splitlines() if " m=" in line]
    assert rows == [
        ["1", "2", "3", "4", "5"],
        ["2", "3", "4", "5", "6"],
        ["3", "5", "7", "9", "11"],
        ["5", "13", "29", "61", "125"],
    ]
    grown = re.search(r"had 32 frames and grew (\d+) times, to (\d+)", output)
    assert grown
    assert int(grown[1]) >= 1
    assert int(grown[2]) >= 128


@pytest.mark.parametrize("output", ["collatz"], indirect=True)
def test_collatz(output: str) -> None:
    assert " 21 to  30:  27 takes 111 steps" in output
    busy = [int(share) for share in re.findall(r"^ *[\d,]+ +(\d+)%$", output, re.MULTILINE)]
    assert len(busy) == 3
    assert busy[0] < busy[1] <= busy[2], "fewer lanes are busier"


@pytest.mark.parametrize(
    ("name", "size"),
    [("train_tree", ["--steps", "12", "--trees", "60"]), ("train_ode", ["--steps", "30", "--forecasts", "120"])],
)
def test_training(
    name: str, size: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "plot.png"
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *size, "--plot", str(plot)])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    losses = [float(loss) for loss in re.findall(r"^step +\d+: loss (\S+),", capsys.readouterr().out, re.MULTILINE)]
    assert len(losses) == 7
    assert losses[-1] < 0.8 * losses[0]
    assert plot.read_bytes().startswith(b"\x89PNG")
