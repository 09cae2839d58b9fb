"""Containers by reference: a program whose containers have several names -> one that has them in holders.

It is the last remedy for a program in which a container is changed by one of two names that only a lane's values tell
apart. ``flow.py`` finds which expressions may have one container as their value (``places.py``), ``plans.py`` chooses
the containers that need a holder, and ``rewritten.py`` writes the functions anew. The class of holders is in
``values/holders.py``. Variables then have numbers of holders, as they have those of other objects in columns.
"""
