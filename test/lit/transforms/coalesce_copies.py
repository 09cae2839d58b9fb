"""coalesce-copies: a value that goes into every call and comes out of it is one variable, moved nowhere."""

# RUN: hlobatch trace %s:f --args "i32[8], f32[8,100]" --print-after pop-push-elimination | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8], f32[8,100]" --print-after coalesce-copies | filecheck %s --check-prefix=AFTER
import hlobatch as hb


@hb.batch
def walk(n, state):
    if n <= 0:
        return state * 2.0
    state = walk(n - 1, state)
    state = walk(n - 2, state)
    return state


@hb.batch
def f(n, state):
    return walk(n, state)


# BEFORE-COUNT-4: prim "move"
# AFTER: def main({{.*}}, [[STATE:%[a-z]+.state]])
# AFTER-NEXT: main.entry:
# AFTER-NEXT: push_jump walk.entry
# AFTER: walk.then:
# AFTER-NEXT: [[STATE]] = prim "state * 2.0" ([[STATE]])
# AFTER-NEXT: return by
# AFTER: walk.after_walk.return:
# AFTER-NEXT: return by
