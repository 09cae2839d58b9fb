"""Programs that are refused today, and the class of the error: ``programs_report.py --write`` writes it anew.

A program whose result is wrong stands here too, as ``WrongResultError``: it is to be refused, or to run.
"""

REFUSED: dict[str, str] = {
    "sieve_numpy": "BatchTypeError",
    "is_happy": "BatchTypeError",
    "merge_sort_bottom_up": "BatchTypeError",
    "fibonacci_memo": "BatchTypeError",
    "optimal_game": "UnsupportedSyntaxError",
    "longest_unique_substring": "BatchTypeError",
    "a_star": "UnsupportedSyntaxError",
    "traffic_light": "BatchTypeError",
    "tennis_game": "UnsupportedSyntaxError",
    "shape_area": "BatchTypeError",
    "mode_and_count": "BatchTypeError",
    "group_sums": "BatchTypeError",
    "calculator": "UnsupportedSyntaxError",
    "change_base": "BatchTypeError",
}
