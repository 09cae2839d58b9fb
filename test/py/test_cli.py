"""The ``hlobatch`` command: its grammar of arguments, what each command prints, and how it fails."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch.cli import as_json, load, main, parse_arguments
from hlobatch.console import UsageError

SOURCE = """
from typing import NamedTuple

import jax
import jax.numpy as jnp

import hlobatch as hb
from scale import FACTOR


@hb.batch
def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


def plain(x, y=2):
    return x * y * FACTOR


@hb.batch(static_argnames="mode", in_axes=(0, None), max_stack_depth=7)
def mixed(tree, data, mode):
    if mode == "fast":
        return tree["x"] * data
    return tree["x"]


class Point(NamedTuple):
    x: jax.Array
    key: jax.Array


@hb.batch
def point(seed):
    return Point(seed / 3, jax.random.key(seed)), {"big": seed > 1}


context = hb.Context().batch(type_inference=None)(plain)
number = 3


@hb.batch
def broken(x):
    y = yield x
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "path", [*sys.path])  # the command adds the file's folder
    (tmp_path / "scale.py").write_text("FACTOR = 10\n")
    path = tmp_path / "user.py"
    path.write_text(SOURCE)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *argv: str, status: int = 0) -> str:
    """The output of a command: stdout, or stderr if it fails."""
    assert main(argv) == status
    captured = capsys.readouterr()
    assert not (captured.err if status == 0 else captured.out)
    return captured.err if status else captured.out


def usage(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The error message for a wrong command line."""
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    return capsys.readouterr().err


# Arguments


def shape(value: Any) -> Any:
    """An argument as text."""
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, jax.ShapeDtypeStruct) else value


@pytest.mark.parametrize(
    ("text", "positional", "keyword"),
    [
        ("", (), {}),
        ("i32[8]", ("int32[8]",), {}),
        ("i32[8], f32[8,3]", ("int32[8]", "float32[8, 3]"), {}),
        ("int8[8],uint16[8]", ("int8[8]", "uint16[8]"), {}),
        ("bf16[8], bool[8], c64[8], u8[8]", ("bfloat16[8]", "bool[8]", "complex64[8]", "uint8[8]"), {}),
        ("f32[]", ("float32[]",), {}),
        ("f32[ 8 , 3 ]", ("float32[8, 3]",), {}),
        ("key<fry>[8], key<rbg>[8]", ("key<fry>[8]", "key<rbg>[8]"), {}),
        ("(i32[8], [f32[8], None])", (("int32[8]", ["float32[8]", None]),), {}),
        ("{'x': i32[8], 'y': ()}", ({"x": "int32[8]", "y": ()},), {}),
        ("{1: i32[8]}", ({1: "int32[8]"},), {}),
        ("i32[8], 'fast', -3, 2.5, True", ("int32[8]", "fast", -3, 2.5, True), {}),
        ("i32[8], mode='fast', data=f32[3]", ("int32[8]",), {"mode": "fast", "data": "float32[3]"}),
    ],
)
def test_arguments(text: str, positional: tuple[Any, ...], keyword: dict[str, Any]) -> None:
    found = parse_arguments(text)
    assert jax.tree.map(shape, found.positional) == positional
    assert jax.tree.map(shape, found.keyword) == keyword


def test_symbolic_sizes_of_one_name_are_one_size() -> None:
    one, two, three = parse_arguments("i32[b], f32[b,3], f32[2*b]").positional
    assert one.shape[0] == two.shape[0]
    assert two.shape[1] == 3
    assert three.shape[0] == 2 * one.shape[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i32[8", "was never closed|does not match"),
        ("i32[8]) + (3", "the parentheses do not match"),
        ("i7[8]", "there is no element type 'i7'"),
        ("key<abc>[8]", "there is no element type 'key<abc>'"),
        ("n", "n is neither an array such as i32\\[8\\] nor a literal"),
        ("i32[8] + 1", "is neither an array"),
        ("i32[8,]!", "invalid syntax"),
        ("i32[?]", "i32\\[\\?\\]"),
    ],
)
def test_arguments_that_are_wrong(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_arguments(text)


# Functions


def test_load_runs_the_file_as_a_script(file: str) -> None:
    assert load(f"{file}:fibonacci")(jnp.array([6, 7])).tolist() == [13, 21]


def test_load_batches_a_plain_function(file: str) -> None:
    assert load(f"{file}:plain")(jnp.array([6, 7])).tolist() == [120, 140]


def test_load_takes_what_a_context_made(file: str) -> None:
    assert isinstance(load(f"{file}:context"), hb.BatchedFunction)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("user.py", "does not name a function; write FILE.py:FUNCTION"),
        ("missing.py:f", "there is no Python file"),
        ("missing:f", "there is no Python module 'missing'"),
        ("{folder}:f", "there is no Python file"),
        ("{file}:nothing", "has no function 'nothing'; batched functions there: fibonacci, mixed, point, broken"),
        ("{file}:number", "has no function 'number'"),
    ],
)
def test_load_says_what_is_missing(file: str, target: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(target.format(file=file, folder=Path(file).parent))


def test_a_file_that_is_no_python_is_shown_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def f(n:\n    return n\n")
    assert main(["trace", f"{broken}:f", "--args", "i32[8]"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f'  File "{broken}", line 1')
    assert "SyntaxError" in error


# Commands


def test_trace_prints_the_typed_program(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "trace", f"{file}:fibonacci", "--args", "i32[8]")
    assert "var full      %fibonacci.n: i32[]" in text
    assert text == str(load(f"{file}:fibonacci").trace(jax.ShapeDtypeStruct((8,), np.int32)).program)


def test_trace_prints_the_frontends_program_without_arguments(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "trace", f"{file}:fibonacci", "--stage", "frontend")
    assert text.startswith("def main(%main.n)")
    assert "var" not in text


def test_trace_prints_the_lowered_program(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "trace", f"{file}:fibonacci", "--args", "i32[b]", "--stage", "lowered")
    assert "push_jump" in text
    assert "call @" not in text


def test_trace_prints_after_each_pass(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "trace", f"{file}:fibonacci", "--args", "i32[8]", "--print-after", "all")
    passes = [line.removeprefix("// after ") for line in text.splitlines() if line.startswith("// after ")]
    assert passes[:3] == ["simplify-cfg", "split-live-ranges", "specialize"]
    assert {"allocate", "lower-calls", "pop-push-elimination", "allocate-lowered"} <= {*passes}
    one = run(capsys, "trace", f"{file}:fibonacci", "--args", "i32[8]", "--print-after", "specialize")
    assert one.startswith("// after specialize\nvar ")
    assert one in text


def test_disable_leaves_a_pass_out(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("trace", f"{file}:fibonacci", "--args", "i32[8]", "--print-after", "all")
    assert "// after dead-code\n" in run(capsys, *argv)
    assert "// after dead-code\n" not in run(capsys, *argv, "--disable", "dead-code")


def test_static_and_shared_arguments(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "trace", f"{file}:mixed", "--args", "{'x': f32[8]}, f32[3], mode='fast'")
    assert "var shared    %main.data: f32[3]" in text
    assert "$result: f32[3]" in text


@pytest.mark.parametrize(
    ("dialect", "found"), [("autobatch", "push_jump"), ("stablehlo", "stablehlo.while"), ("hlo", "HloModule")]
)
def test_lower(file: str, capsys: pytest.CaptureFixture[str], dialect: str, found: str) -> None:
    assert found in run(capsys, "lower", f"{file}:fibonacci", "--args", "i32[8]", "--dialect", dialect)


def test_options_of_the_command_line_replace_those_of_the_decorator(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ("lower", f"{file}:fibonacci", "--args", "i32[8]", "--dispatch", "case")
    assert "tensor<33x8xi32>" in run(capsys, *argv)
    text = run(capsys, *argv, "--depth", "5")
    assert "tensor<6x8xi32>" in text
    assert "33x8" not in text


def test_run_takes_arrays_by_position(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "x.npz", np.arange(6, 10))
    assert run(capsys, "run", f"{file}:fibonacci", "--inputs", str(tmp_path / "x.npz")) == "[13, 21, 34, 55]\n"


def test_run_takes_one_array(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.arange(6, 10))
    assert run(capsys, "run", f"{file}:fibonacci", "--inputs", str(tmp_path / "x.npy")) == "[13, 21, 34, 55]\n"


def test_run_takes_arrays_by_name(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "x.npz", y=np.array([1.5, 2.0], np.float32), x=np.array([1, 2]))
    assert run(capsys, "run", f"{file}:plain", "--inputs", str(tmp_path / "x.npz")) == "[15.0, 40.0]\n"


def test_run_prints_pytrees(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "x.npz", seed=np.array([0, 3]))
    found = json.loads(run(capsys, "run", f"{file}:point", "--inputs", str(tmp_path / "x.npz")))
    assert found == [[[0.0, 1.0], [[0, 0], [0, 3]]], {"big": [False, True]}]


def test_run_with_stats(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "x.npz", n=np.arange(6, 10))
    argv = ("run", f"{file}:fibonacci", "--inputs", str(tmp_path / "x.npz"), "--stats", "--dispatch", "case")
    first, *stats = run(capsys, *argv).splitlines()
    assert first == "[13, 21, 34, 55]"
    assert "4 inputs" in stats[0]
    assert any(line.startswith("fibonacci.entry") for line in stats)


EXPORTED = """\
fibonacci, for cpu
  32 frames for each stack, any number of steps for each input
  takes n: i32[batch], (module.stablehlo first takes the size of the batch, i32[])
  gives result: i32[batch], stopped: i32[], status: i32[batch]
"""


def test_export_writes_a_file_and_says_what_it_takes(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a file and of a module, which are the same here."""
    output, bare = str(tmp_path / "f.hlob"), tmp_path / "f.stablehlo"
    how = ["--args", "i32[b]", "--output", output, "--stablehlo", str(bare)]
    assert run(capsys, "export", f"{file}:fibonacci", *how) == f"{output}: {EXPORTED}"
    assert hb.load(output).call(np.arange(8, dtype=np.int32)).tolist() == [1, 1, 2, 3, 5, 8, 13, 21]
    assert bare.read_bytes() == hb.load(output).stablehlo
    Path(output).unlink()
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "export", "user:fibonacci", *how) == f"{output}: {EXPORTED}"
    sys.modules.pop("user")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (jnp.arange(3), "[0, 1, 2]"),
        ((jnp.ones((1, 2)), None), "[[[1.0, 1.0]], null]"),
        ({"a": jnp.array([jnp.nan])}, '{"a": [NaN]}'),
        (jnp.array([1 + 2j]), '["(1+2j)"]'),
        (np.float32(2), "2.0"),
    ],
)
def test_results_print_as_json(value: Any, text: str) -> None:
    assert as_json(value) == text


# Failures


def test_an_error_is_a_plain_diagnostic(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "trace", f"{file}:broken", "--stage", "frontend", status=1)
    line = SOURCE.splitlines().index("    y = yield x") + 1
    assert text.startswith(f"{file}:{line}:9: error: `yield` is not supported in a batched function\n")
    assert f"\n  {line} |     y = yield x\n" in text
    assert "Traceback" not in text


def test_an_error_about_the_command_line_has_no_place_in_a_file(file: str, tmp_path: Path) -> None:
    script = tmp_path / "hlobatch"
    script.write_text("import sys\nfrom hlobatch.cli import main\nsys.exit(main())\n")
    argv = ["trace", f"{file}:fibonacci", "--args", "i32[8], i32[8]"]
    for command in (["-m", "hlobatch.cli"], [str(script)]):
        done = subprocess.run([sys.executable, *command, *argv], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("error: fibonacci() is called wrongly: too many positional arguments\n")
        assert f"{file}:12:1: note: fibonacci is defined here" in done.stderr


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("fly",), "invalid choice: 'fly'"),
        (("trace",), "the following arguments are required: FILE.py:FUNCTION"),
        (("trace", "{file}:fibonacci"), 'this needs the types of the arguments, as in --args "i32[8]"'),
        (
            ("trace", "{file}:fibonacci", "--args", "i32[8]", "--print-after", "x"),
            "argument --print-after: invalid choice: 'x' (choose from",
        ),
        (
            ("trace", "{file}:fibonacci", "--args", "i32[8]", "--print-after", "dead-code", "--disable", "dead-code"),
            "'dead-code' did not run; those that did: simplify-cfg, split-live-ranges, specialize,",
        ),
        (("trace", "{file}:fibonacci", "--args", "i32[8]", "--depth", "0"), "max_stack_depth is a positive int, not 0"),
        (("trace", "{file}:fibonacci", "--args", "i32[-3]"), "a size is negative"),
        (("trace", "{file}:fibonacci", "--args", "n=i32[8], n=i32[8]"), "there twice"),
        (("trace", "{file}:fibonacci", "--args", "**{{'n': i32[8]}}"), "a keyword is missing"),
        (("lower", "{file}:fibonacci", "--args", "i32[8]", "--dialect", "x"), "invalid choice: 'x'"),
        (("run", "{file}:fibonacci"), "the following arguments are required: --inputs"),
        (("export", "{file}:fibonacci", "--args", "i32[b]"), "the following arguments are required: --output"),
        (("export", "{file}:fibonacci", "--output", "f.hlob"), "this needs the types of the arguments"),
        (("export", "{file}:fibonacci", "--args", "i32[b]", "--output", "/no/f.hlob"), "No such file or directory"),
        (
            ("export", "{file}:fibonacci", "--args", "i32[b]", "--output", "f.hlob", "--platforms", "abacus"),
            "platforms names 'abacus'",
        ),
        (("run", "{file}:fibonacci", "--inputs", "missing.npz"), "there is no file 'missing.npz'"),
    ],
)
def test_a_wrong_command_line_is_answered_with_the_usage(
    file: str, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], message: str
) -> None:
    text = usage(capsys, *(word.format(file=file) for word in argv))
    assert text.startswith("usage: hlobatch")
    assert message in text


def damaged(folder: Path, kind: str) -> Path:
    """A file that is no array, or not all of one."""
    file = folder / "x.npz"
    np.savez_compressed(file, n=np.arange(100))
    whole = file.read_bytes()
    np.save(folder / "x.npy", np.arange(100))
    alone = (folder / "x.npy").read_bytes()
    middle = len(whole) // 2
    content = {
        "empty": b"",
        "text": b"n = 3",
        "cut off": whole[:-30],
        "half": whole[:middle],
        "changed": whole[:60] + bytes(20) + whole[80:],
        "header alone": alone[:90],
        "array cut off": alone[:-8],
        "of a size that nothing has": alone.replace(b"(100,), }", b"(10**15,)")[:128],
    }
    file.write_bytes(content[kind])
    return file


@pytest.mark.parametrize(
    "kind",
    ["empty", "text", "cut off", "half", "changed", "header alone", "array cut off", "of a size that nothing has"],
)
def test_inputs_that_are_damaged(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    assert main(["run", f"{file}:fibonacci", "--inputs", str(damaged(tmp_path, kind))]) == 1
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith(f"error: {tmp_path / 'x.npz'} cannot be read as .npz: ")


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="there is no /dev/full, which stands for a disk that is full"
)
def test_a_disk_that_is_full(file: str) -> None:
    argv = [sys.executable, "-m", "hlobatch.cli", "trace", f"{file}:fibonacci", "--args", "i32[8]"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (1, "error: the output cannot be written: No space left on device\n")


def test_a_name_that_the_encoding_lacks(tmp_path: Path) -> None:
    program = tmp_path / "prog.py"
    program.write_text("def größe(n):\n    return n\n", encoding="utf-8")
    argv = [sys.executable, "-m", "hlobatch.cli", "trace", f"{program}:größe", "--args", "i32[8]"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=300)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "error: the output has the character '\\xf6', which ascii lacks",
        "help: set PYTHONIOENCODING=utf-8 in the environment.",
    ]


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert all(f"    {command} " in text for command in ("trace", "lower", "run", "export"))
    assert main([]) == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize("command", ["trace", "lower", "run", "export"])
def test_help_of_a_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = capsys.readouterr().out
    assert re.match(f"usage: hlobatch {command} FILE.py:FUNCTION --(args|inputs) .*\n\n", text)  # one line
    assert "FILE.py:FUNCTION" in text
    assert "batch axis first" in text


def test_a_module_of_64_bits_where_there_are_none(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, inputs = tmp_path / "wide.mlir", tmp_path / "x.npz"
    with jax.enable_x64(True):
        module.write_text(run(capsys, "trace", f"{file}:fibonacci", "--args", "i64[3]", "--mlir"))
    np.savez(inputs, np.array([1, 5, 7]))
    assert main(["run", str(module), "--inputs", str(inputs)]) == 1
    error = capsys.readouterr().err
    assert "the program computes with int64, and JAX is not allowed to" in error
    assert "JAX_ENABLE_X64=1" in error
    with jax.enable_x64(True):
        assert json.loads(run(capsys, "run", str(module), "--inputs", str(inputs))) == [1, 8, 21]
