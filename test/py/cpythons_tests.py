"""CPython's own tests of a module of its library, on the one of the prelude: `python -I cpythons_tests.py heapq`.

This runs by itself, without hlobatch: code of the prelude is ordinary Python.
"""

import importlib.util
import sys
import unittest
from pathlib import Path
from types import ModuleType

CLASSES = {"bisect": ("TestBisect", "TestInsort", "TestErrorHandling"), "heapq": ("TestHeap", "TestErrorHandling")}
"""By module, the classes of CPython's that test what is given as `module`."""
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


def tests_of(name: str) -> unittest.TestSuite:
    theirs, ours = importlib.import_module(f"test.test_{name}"), loaded(name)
    suite = unittest.TestSuite()
    for test in CLASSES[name]:
        case = type(test, (getattr(theirs, test), unittest.TestCase), {"module": ours})
        names = set(unittest.defaultTestLoader.getTestCaseNames(case)) - NOT_PUBLIC
        suite.addTests(map(case, sorted(names)))
    return suite


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=0).run(tests_of(sys.argv[1]))
    sys.exit(not result.wasSuccessful() or not result.testsRun)
