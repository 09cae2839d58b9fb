"""Derivatives of typed programs: programs that compute tangents (forward mode) and cotangents (reverse mode).

Both passes work on the typed program with calls, before any optimization. What they make is a program like any other:
every later pass, every executor and both code generators treat it as one that a user wrote.

::

    program ── prepared ──► program ── with_tangents ──► program with a tangent beside each active array
                                   └── with_cotangents ─► program that runs forward, leaves a tape, and runs back
"""
