"""Single-example programs as textbooks and users of libraries write them: nothing in them is there for this package.

Each module holds the programs of one subject, in plain Python and NumPy, and ends with a table of them, ``PROGRAMS``:
for each several examples, different enough that lanes part. ``test_programs.py`` runs them all, ``refused.py`` lists
those that are refused today, and ``programs_report.py`` prints how each fares.
"""

from programs import (
    classes,
    containers,
    dynamic,
    environments,
    everyday,
    games,
    graphics,
    graphs,
    learning,
    linked,
    lists,
    number_theory,
    numerics,
    simulation,
    sorting,
    strings,
)
from programs.table import Program

SUBJECTS = (
    numerics,
    number_theory,
    sorting,
    dynamic,
    strings,
    graphs,
    games,
    simulation,
    graphics,
    learning,
    environments,
    everyday,
    lists,
    linked,
    classes,
    containers,
)
PROGRAMS: tuple[Program, ...] = tuple(program for subject in SUBJECTS for program in subject.PROGRAMS)
