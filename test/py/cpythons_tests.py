"""CPython's own tests of a library module, on the prelude's version of it: `python -I cpythons_tests.py heapq`.

This runs by itself, without hlobatch: code of the prelude is ordinary Python.
"""

import importlib.util
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace

IN_EXAMPLES = tuple(
    f"test_{name}"
    for name in (
        "accumulate",
        "combinations",
        "compress",
        "dropwhile",
        "filterfalse",
        "groupby",
        "product",
        "takewhile",
    )
)
"""Tests of iterators with few items that are not requested one by one."""
EXACT = ("test_prod", "testGcd", "test_lcm")
"""Tests of functions of ``math`` that round nothing: lanes have the others to within some last bits."""
CLASSES = {
    "bisect": [("test_bisect", name, "test") for name in ("TestBisect", "TestInsort", "TestErrorHandling")],
    "builtins": [("test_builtin", "TestSorted", "test"), ("list_tests", "CommonTest", "test_sort")],
    "collections": [
        ("test_ordered_dict", "OrderedDictTests", ("test_move_to_end", "test_popitem")),
        ("test_collections", "TestCounter", ("test_basics", "test_subtract")),
    ],
    "functools": [("test_functools", "TestReduceC", "test_reduce")],
    "heapq": [("test_heapq", name, "test") for name in ("TestHeap", "TestErrorHandling")],
    "itertools": [("test_itertools", "TestExamples", IN_EXAMPLES)],
    "math": [("test_math", "MathTests", EXACT)],
    "operator": [("test_operator", "OperatorTestCase", ("test_countOf", "test_indexOf"))],
}
"""For each module of the prelude: CPython's test modules, their classes, and prefixes of the tests' names."""
LEFT_OUT = {"test_heappop_max", "test_accumulate_reducible", "test_accumulate_reducible_none"}
"""Tests left out, of private functions, and of iterators that are lists in the prelude."""
PRELUDE = Path(__file__).parents[2] / "hlobatch" / "prelude"


def loaded(name: str) -> ModuleType:
    """A module of the prelude, from its file alone."""
    spec = importlib.util.spec_from_file_location(f"our_{name}", PRELUDE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tests_of(name: str) -> Iterator[unittest.TestCase]:
    """The tests of functions that the prelude has, with the prelude's module in place of Python's."""
    ours = loaded(name)
    own = {name: value for name, value in vars(ours).items() if isinstance(value, (FunctionType, type))}
    for file, test, prefix in CLASSES[name]:
        theirs = importlib.import_module(f"test.{file}")
        if name in ("builtins", "collections", "itertools"):
            vars(theirs).update(own)
        if hasattr(theirs, name):  # its tests name the module
            setattr(theirs, name, SimpleNamespace(**{**vars(getattr(theirs, name)), **own}))
        attributes = {**own, "module": ours, "type2test": own.get("list"), "reduce": staticmethod(own.get("reduce"))}
        case = type(test, (getattr(theirs, test), unittest.TestCase), attributes)
        names = set(unittest.defaultTestLoader.getTestCaseNames(case)) - LEFT_OUT
        yield from map(case, sorted(one for one in names if one.startswith(prefix)))


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=0).run(unittest.TestSuite(tests_of(sys.argv[1])))
    sys.exit(not result.wasSuccessful() or not result.testsRun)
