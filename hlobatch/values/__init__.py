"""The run-time of Python's values while code is traced: what a lane's lists, dicts, objects, None and choices do."""
