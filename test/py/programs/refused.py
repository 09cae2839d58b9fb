"""Programs that are refused today, and the class of the error: ``programs_report.py --write`` writes it anew.

A program whose result is wrong stands here too, as ``WrongResultError``: it is to be refused, or to run.
"""

REFUSED: dict[str, str] = {}
