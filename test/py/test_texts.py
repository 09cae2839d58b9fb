"""Texts that are computed from a lane's values: each operation against Python's, on numbers and on texts."""

import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from zoo import LOOP

import hlobatch as hb
from hlobatch.values.letters import SPACES
from hlobatch.values.texts import LaneText

NUMBERS = [0, 7, -12, 121, 12321, -(2**31) + 2, 2**31 - 1, 100, 255, -1]
TEXTS = ["", "abcab", "a", "Hello, World", "  a b  a ", "-12", "121", "xyzzyx", "aaaa", "1,2,,3", "+7", "z" * 40, "aba"]


def of_lane(result: Any, lane: int) -> Any:
    """The result of one lane."""
    if isinstance(result, (tuple, list)):
        return type(result)(of_lane(part, lane) for part in result)
    if isinstance(result, dict):
        return {key: of_lane(part, lane) for key, part in result.items()}
    if isinstance(result, (str, bool, int)):
        return result
    return result[lane] if isinstance(result, hb.Ragged) else np.asarray(result)[lane].item()


def check(function: Callable[..., Any], *columns: Sequence[Any], **options: Any) -> None:
    """Compare a function with Python, lane by lane: its values, and the classes of its exceptions."""
    args = [hb.Ragged.of(column) if isinstance(column[0], str) else np.array(column) for column in columns]
    errors: dict[int, BaseException] = {}
    try:
        found = hb.batch(function, **options)(*args)
    except hb.LaneError as error:
        found, errors = error.outputs, dict(error.errors)
    for lane, row in enumerate(zip(*columns, strict=True)):
        wanted = outcome(function, row)
        given = type(errors[lane]) if lane in errors else of_lane(found, lane)
        assert given == wanted, (row, errors.get(lane))


def outcome(function: Callable[..., Any], row: Sequence[Any]) -> Any:
    """The result of a function, or the class of the exception that it raises."""
    try:
        return function(*row)
    except Exception as raised:  # noqa: BLE001
        return type(raised)


OF_A_NUMBER = """
len(str(n)), str(n)[::-1], str(n) == str(n)[::-1]
bin(n), oct(n), hex(n), bin(n)[2:], bin(n).count("1"), bin(n).count("0")
str(n)[0], str(n)[-1], str(n)[1:], str(n)[:2], str(n)[-3:-1], str(n)[::2], str(n)[:0:-1]
f"{n}", f"{n:d}", f"{n:b}", f"{n:o}", f"{n:x}", f"{n:X}", f"{n:#x}", f"{n:#X}", f"{n:#b}", f"{n:+d}", f"{n: d}"
f"{n:8}", f"{n:<8}", f"{n:>8}", f"{n:^8}", f"{n:=8}", f"{n:08}", f"{n:+08d}", f"{n:#010b}", f"{n:*^9}", f"{n:#012x}"
f"{n:,}", f"{n:_}", f"{n:_x}", f"{n:_b}", f"{n:15,}", f"{n!r:>6}", f"{n!s:<6}|", f"<{n}><{n - 1:3}>"
"%d" % n, "%5d|%-5d|%05d|%+d|% d" % (n, n, n, n, n), "%s and %s" % (n, "x"), "%x %X %o %#x" % (n, n, n, n), "%d%%" % n
"{} {}".format(n, 2), "{0:>4} {1} {0}".format(n, "a"), "{x:03d}".format(x=n), format(n, "x"), format(n), repr(n)
str(n > 3)
str(n).zfill(6), str(n).rjust(5, "*"), str(n).ljust(5) + "|", str(n).center(6, "-"), str(n).center(7, "-")
int(str(n)), int(bin(n), 2), int(hex(n), 16), int(oct(n), 8), int(f" {n}\\n"), int(f"{n:_}")
[int(c) for c in str(abs(n // 2))], sum(map(int, str(abs(n // 2)))), [c + c for c in str(n)], list(str(n))
sorted(str(n))
"".join(sorted(str(n))), ",".join(str(n)), "".join(reversed(str(n))), "-".join([str(n), "x", "yz"])
"".join(c for c in str(n) if c != "1")
"".join(str(i) for i in range(n % 5)), " and ".join(["a" * i for i in range(n % 4)]), "".join([])
len(set(str(n))), "1" in str(n), str(n) in ("7", "121"), str(n)[0] in "-1", str(n) in {"7": 1, "121": 2}
{"7": 3}.get(str(n), 0)
str(n) < "5", str(n) <= "121", "121" > str(n), str(n) >= str(n // 2), str(n) != "7", min(str(n)), max(str(n))
max(str(n), "3")
chr(65 + n % 26), chr(1000 + n % 26) * (n % 3), ord(str(n)[0]), ord(chr(abs(n) % 60000))
"abcdef"[n % 3 :], "abcdef"[: n % 5], ("abc" if n > 1 else "xy")[n % 2 :]
"ab" * (n % 4), (n % 3) * "xy", str(n) * 2, str(n) * (n % 3 - 1), "=" * (n % 5) + ">"
"yes" if n > 5 else "no", str(n) if n > 0 else "none", str(n) or "empty", (str(n), n)
"0123456789"[n % 10], "abc"[n % 3] + str(n)
"abcdefghijklmnopqrstuvwxyz"[n % 26] + "abcdefghijklmnopqrstuvwxyz"[n % 25]
int("x" + str(n))
chr(n)
ord(str(n))
str(n)[2]
str(n).index("2")
int(str(n)[1:] + "z", 36) if n == 7 else 0
[[c, str(i)] for i, c in enumerate("ab" * (n % 3))], {str(n): 1, "a": 2}, [a + b for a, b in zip(str(n), "xyz")]
""".strip().splitlines()

OF_TEXTS = """
len(s), s == t, s != t, s < t, s <= t, s > t, s >= t, not s, s + t, t + s, s + "!" + t, s in t, t in s, "a" in s
s[::-1], s[1:3], s[:-1], s[::2], s[-2:], s * 2, s * len(t), [c for c in s], sorted(s), list(t), "".join(sorted(s + t))
s.upper(), s.lower(), s.swapcase(), s.title(), s.capitalize(), s.strip(), s.lstrip(), s.rstrip(), s.strip("a-")
s.lstrip("x")
s.isdigit(), s.isalpha(), s.isalnum(), s.isspace(), s.isupper(), s.islower(), s.isdecimal(), s.isnumeric()
s.isascii()
s.find("a"), s.find(t), s.rfind("a"), s.rfind(t), s.find("ab", 1), s.find("a", -3, -1), s.rfind("a", 0, 3)
s.find("", 3)
s.count("a"), s.count("aa"), s.count(t), s.count(""), s.count("a", 2), s.startswith("a"), s.startswith(t)
s.endswith(t)
s.startswith("", 64), s.startswith("", 65)
s.startswith(("x", "a")), s.endswith(("b", "a")), s.startswith("b", 1), s.endswith("b", 0, 2), s.startswith("")
s.endswith("")
s.replace("a", "x"), s.replace("a", ""), s.replace("ab", "xyz"), s.replace("a", t), s.replace("", "-")
s.replace("a", "bb", 2)
s.split(), s.split(","), s.split("a"), s.split("ab"), s.split(",", 1), len(s.split("a")), "|".join(s.split())
s.partition("a"), s.rpartition("a"), s.partition("ab"), s.removeprefix("a"), s.removesuffix("a"), s.removeprefix(t)
s.zfill(8), s.rjust(8, "."), s.ljust(8, ".") + "|", s.center(8, "."), s.center(9, ".")
f"{s:>7}|{s:<7}|{s:^7}|{s:.2}|{s:5.1}|"
"%s-%5s-%-5s|" % (s, t, s), "{}{:>3}".format(s, t), f"{s!s}", t.join(["a", s, "b"]), s.join(t), "".join([s, t])
",".join([s])
s.join("xyz"), s.join("x"), s.join(""), s.join(str(i) for i in range(3)), s.join({"q": 1, "r": 2})
{c: s.count(c) for c in "abc"}, {c: i for i, c in enumerate(s)}, len(set(s) | set(t)), len(set(s) & set(t))
max(s + "a"), min(t, s)
int(s)
s[2]
s.index("b")
s.split(t)
ord(s)
"xyzzyx".count(s[:1]), "hello".find(s), "abc".startswith(s), "a,b".replace(",", s), s in "abcab", "abc" < s
"abc" == s
str(s), s.casefold(), tuple([s, t]), (s if len(s) > len(t) else t), (s or "nothing"), (s and t)
max(s, t, "b"), max([s, t], key=len), sorted([s, t, "b"]), [s, t].index(t), [s, "a"].count("a"), s in [t, "a"]
[s, t] == [t, s]
sum(c == d for c, d in zip(s, t)), all(c != "z" for c in s), any(c in t for c in s)
next((i for i, c in enumerate(s) if c == "b"), -1)
""".strip().splitlines()


@pytest.mark.parametrize("text", OF_A_NUMBER)
def test_texts_of_a_number_are_pythons(text: str, tmp_path: Path) -> None:
    check(expression(text, "n", tmp_path), NUMBERS)


@pytest.mark.parametrize("text", OF_TEXTS)
def test_operations_on_texts_are_pythons(text: str, tmp_path: Path) -> None:
    pairs = list(itertools.islice(zip(TEXTS, [*TEXTS[3:], *TEXTS[:3]], strict=True), 40))
    check(expression(text, "s, t", tmp_path), [one for one, _ in pairs], [other for _, other in pairs])


def expression(text: str, parameters: str, folder: Path) -> Any:
    """The function of a file that returns an expression."""
    file = folder / "texts.py"
    file.write_text(f"def f({parameters}):\n    return {text}\n")
    space: dict[str, Any] = {"__name__": __name__, "jnp": jnp}
    exec(compile(file.read_text(), str(file), "exec"), space)
    return space["f"]


# Statements


def grows(n: int) -> str:
    text = ""
    for i in range(n % 70):
        text += "abc"[i % 3]
    return text


def is_rebound(n: int) -> str:
    text = str(n)
    other = text
    for letter in text:
        text += letter
        other = letter + other
    return text + other


def counted(n: int) -> tuple[int, str]:
    counts: dict[str, int] = {}
    for digit in str(n):
        counts[digit] = counts.get(digit, 0) + 1
    return max(counts.values()), max(sorted(counts), key=lambda digit: counts[digit])


def caught(n: int) -> int:
    try:
        return int(str(n)[1:])
    except ValueError:
        return -1


def recursive(text: str) -> bool:
    return len(text) < 2 or (text[0] == text[-1] and recursive(text[1:-1]))


def of_a_recursion(n: int) -> bool:
    return recursive(str(n))


def matched(n: int) -> int:
    match str(n):
        case "7":
            return 1
        case "121" | "100":
            return 2
        case [_, _]:
            return 5
        case text if text.startswith("-"):
            return 3
    return 4


def none_or_text(n: int) -> str:
    found = None
    for digit in str(n):
        if digit > "4":
            found = digit
    return "none" if found is None else found


def in_objects(n: int) -> str:
    words = [str((n % 100 + i) % 10) for i in range(4)]
    words[n % 4] = "x"
    words.append(f"{n}")
    words.sort()
    return " ".join(words)


def exchanged(n: int) -> str:
    names = [str(n % 100 + i) for i in range(n % 5)]
    i, j = 0, len(names) - 1
    while i < j:
        names[i], names[j] = names[j], names[i]
        i, j = i + 1, j - 1
    return ",".join(names)


@pytest.mark.parametrize("options", [{}, {"optimizations": LOOP}], ids=["as it is chosen", "loop"])
@pytest.mark.parametrize(
    "function",
    [grows, is_rebound, counted, caught, of_a_recursion, matched, none_or_text, in_objects, exchanged],
    ids=lambda function: function.__name__,
)
def test_statements_on_texts_are_pythons(function: Callable[..., Any], options: dict[str, Any]) -> None:
    check(function, NUMBERS, **options)


def edit_distance(one: str, other: str) -> int:
    rows = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) + 1):
        rows[i][0] = i
    for j in range(len(other) + 1):
        rows[0][j] = j
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            change = 0 if one[i - 1] == other[j - 1] else 1
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + change)
    return rows[len(one)][len(other)]


def caesar(text: str, shift: int) -> str:
    found = ""
    for letter in text:
        if letter.isalpha():
            first = ord("A") if letter.isupper() else ord("a")
            found += chr((ord(letter) - first + shift) % 26 + first)
        else:
            found += letter
    return found


def test_a_function_takes_and_gives_texts() -> None:
    check(caesar, TEXTS, list(range(len(TEXTS))))
    check(edit_distance, ["kitten", "", "abc"], ["sitting", "ab", "abc"])


# Limits


def test_a_text_that_gets_long_gets_more_room() -> None:
    check(lambda n: "ab" * (n % 400) + str(n), [1, 399, 250])
    check(lambda n: len("-".join([str(i) for i in range(n)])), [1, 3, 200])


def test_a_text_has_the_room_that_is_given() -> None:
    def f(n):
        text = hb.capacity("", 10)
        for i in range(n):
            text += str(i % 10)
        return text

    check(f, [0, 10])
    with pytest.raises(hb.CapacityError):
        hb.batch(f)(np.array([3, 11]))


def test_letters_beyond_ascii_are_kept_or_refused() -> None:
    check(
        lambda s: (s[::-1], s + "é", len(s), s == "éa", "é" in s, ord(s[0]), s.strip()), ["éa", "日本", "\u3000a\x85"]
    )
    for ask in (str.upper, str.isalpha, str.isdigit, int):
        with pytest.raises(hb.LetterError):
            hb.batch(lambda s, ask=ask: ask(s))(hb.Ragged.of(["12", "٣"]))


def test_white_space_is_pythons() -> None:
    known = [code for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    assert known == [code for first, last in SPACES for code in range(first, last + 1)]


def test_a_numeral_that_needs_more_bits_fails_where_that_is_checked() -> None:
    numerals = ["2147483647", "2147483648", "-2147483648", "-2147483649", "0099999999999", "0000000000012"]
    with pytest.raises(hb.LaneError) as caught_:
        hb.batch(lambda s: int(s), checked=True)(hb.Ragged.of(numerals))
    assert set(caught_.value.errors) == {1, 3, 4}
    assert {type(error) for error in caught_.value.errors.values()} == {hb.IntegerOverflowError}
    assert [int(caught_.value.outputs[lane]) for lane in (0, 2, 5)] == [2**31 - 1, -(2**31), 12]


REFUSED = """
str(n / 2)
f"{n / 3:.2f}"
str([n])
str(n).encode()[0]
f"{n:{n}}"
repr(str(n))
str(n) is str(n)
hash(str(n))
str(n).translate({})
str(n).splitlines()
float(str(n))
jnp.array(str(n))
str(n) % 3
str(n) + n
str(n) + [1]
[0] * n + str(n)
str(n) < n
n in str(n)
str(n)[str(n)]
"%r" % str(n)
eval(str(n))
""".strip().splitlines()


@pytest.mark.parametrize("text", REFUSED)
def test_what_lanes_cannot_do_with_texts_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(hb.HloBatchError) as refused:
        hb.batch(expression(text, "n", tmp_path))(np.array([1, 2]))
    assert not isinstance(refused.value, hb.LaneError)
    assert not any(word in str(refused.value) for word in ("LaneText", "Tracer", "__hb"))


# Known texts


def test_known_texts_stay_known() -> None:
    def f(n):
        name = "left" if n > 1 else "right"
        size = len(name + "-hand") + ("abc" + "def").find("d") + int("12")
        return size + {"left": 1, "right": 2}[name]

    assert not any(
        isinstance(type_.tensors, LaneText) for type_ in hb.batch(f).trace(np.arange(3)).program.var_defs.values()
    )
    check(f, [0, 1, 2])


# Texts in other programs


def reversed_text(n: int) -> str:
    return str(n)[::-1]


def test_texts_pass_through_jit_vmap_and_files(tmp_path: Path) -> None:
    batched = hb.batch(reversed_text)
    assert jax.jit(batched)(jnp.array(NUMBERS[:4])).tolist() == [str(n)[::-1] for n in NUMBERS[:4]]
    rows = jax.vmap(batched)(jnp.arange(6).reshape(2, 3))
    assert rows.lengths.shape == (2, 3)
    loaded = hb.load(hb.export(batched, jnp.arange(3)).save(tmp_path / "texts"))
    assert loaded.call(jnp.array([12, 345, 6])).tolist() == ["21", "543", "6"]
    doubled = hb.batch(lambda s: s + s)
    assert doubled(batched(np.array([12, 3]))).tolist() == ["2121", "33"]


@pytest.mark.parametrize("batch", [0, 1, 2, 17])
def test_texts_of_any_batch(batch: int) -> None:
    assert hb.batch(reversed_text)(np.arange(batch)).tolist() == [str(n)[::-1] for n in range(batch)]


def test_exceptions_and_prints_show_texts(capsys: pytest.CaptureFixture[str]) -> None:
    def f(n):
        text = f"<{n}>"
        print(text[::-1], f"{text:>6}")
        if n > 100:
            raise ValueError(f"{text} is {text[0]} large", text)
        return n

    with pytest.raises(ValueError, match="large") as caught_:
        hb.batch(f)(np.array([7, 121]))
    assert caught_.value.errors[1].args == ("<121> is < large", "<121>")
    assert capsys.readouterr().out.splitlines() == ["lane 0: >7<    <7>", "lane 1: >121<  <121>"]


def test_update_by_names() -> None:
    def merged(n: Any) -> Any:
        grid = [{"a": 1}, {"a": 2}]
        grid[n % 2].update(a=3)
        grid[n % 2].update({"c": n}, b=n)
        return grid[0]

    assert list(hb.batch(merged)(np.arange(3))) == list(map(merged, range(3)))
