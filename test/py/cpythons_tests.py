"""CPython's own tests of a module of its library, on the one of the prelude: `python -I cpythons_tests.py heapq`.

This runs by itself, without hlobatch: code of the prelude is ordinary Python.
"""

import importlib.util
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

CLASSES = {
    "bisect": ("test_bisect", ("TestBisect", "TestInsort", "TestErrorHandling")),
    "builtins": ("test_builtin", ("TestSorted",)),
    "heapq": ("test_heapq", ("TestHeap", "TestErrorHandling")),
}
"""By module, that of CPython's tests, and its classes, which test what they have as `module`, or what is global."""
NOT_PUBLIC = {"test_heappop_max"}
"""Tests of functions that are not public."""
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
    """Those that are of what the prelude has."""
    (file, classes), ours = CLASSES[name], loaded(name)
    theirs = importlib.import_module(f"test.{file}")
    public = {n: own for n, own in vars(ours).items() if isinstance(own, FunctionType) and n[0] != "_"}
    if name == "builtins":
        vars(theirs).update(public)
    for test in classes:
        case = type(test, (getattr(theirs, test), unittest.TestCase), {"module": ours})
        names = set(unittest.defaultTestLoader.getTestCaseNames(case)) - NOT_PUBLIC
        yield from map(case, sorted(names))


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=0).run(unittest.TestSuite(tests_of(sys.argv[1])))
    sys.exit(not result.wasSuccessful() or not result.testsRun)
