"""When the items of an iterable are made: all at once, or in turn with the code that uses them.

Python makes the items of a list at once, and those of an iterator one by one, as they are used. Lanes make all items at
once where nobody can see the difference, since that takes less. So this package answers one question, *when*: the
effects of making an item, and of the code that uses it, give a ``Moment`` (``moments.py``, by the lists of what changes
objects in ``changes.py``). Each answer has modules that carry it out::

    AT_ONCE      straight-line code, which tells if it has to be a loop            trace_time.py
    BY_A_LOOP    a comprehension, or ``sum``, ``any``, … of one, as a loop         comprehensions.py, reductions.py
    IN_TURN      the body of the loop where the item is made:
                 of generator expressions, ``map`` and ``filter``                  loops_in_turn.py, lazy.py
                 of generators of the user's, of ``itertools.count``               generator_loops.py, counts.py
                 of what fills a container item by item                            filled.py

An iterator that has a name is written at its use, if it has one (``at_its_use.py``), and is else an object of which
each lane takes items (``kept_iterators.py``). What fits neither is refused: a generator expression with effects that
may not be read to its end (``read_to_the_end.py``), a loop that changes what items were made of before it
(``read_by_turns.py``), a change before an iterator is used (``read_late.py``), and a list in place of an iterator
that is read twice (``used_up.py``, ``reads.py``).
"""
