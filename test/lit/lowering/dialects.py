"""The dialects of one program: StableHLO as it is compiled, and for any platform; with places, too."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dialect autobatch | filecheck %s --check-prefix=AUTOBATCH
# RUN: hlobatch lower %s:f --args "i32[8]" --dialect hlo | filecheck %s --check-prefix=HLO
# RUN: hlobatch lower %s:f --args "i32[8]" | filecheck %s --check-prefix=COMPILED
# RUN: hlobatch lower %s:f --args "i32[8]" --dialect portable | filecheck %s --check-prefix=PORTABLE
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
# COMPILED: stablehlo.while
# PORTABLE: stablehlo.while
# DEBUG: loc("{{.*}}dialects.py":
