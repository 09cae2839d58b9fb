"""The three dialects of one program, and StableHLO with places in the source."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dialect autobatch | filecheck %s --check-prefix=AUTOBATCH
# RUN: hlobatch lower %s:f --args "i32[8]" --dialect hlo | filecheck %s --check-prefix=HLO
# RUN: hlobatch lower %s:f --args "i32[8]" --debug-info | filecheck %s --check-prefix=DEBUG
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# AUTOBATCH: push_jump f.entry, return to f.after_if.return by %f.$return
# HLO: HloModule
# HLO: while(
# DEBUG: loc("{{.*}}dialects.py":
