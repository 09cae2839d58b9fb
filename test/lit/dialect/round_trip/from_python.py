"""What the frontend makes of Python is a module of the dialect, before and after calls are lowered."""

# RUN: hlobatch trace %s:fib --args "i32[8]" --mlir | hlobatch-opt - --round-trip | filecheck %s
# RUN: hlobatch trace %s:fib --args "i32[8]" --stage lowered --mlir | hlobatch-opt - --round-trip | filecheck %s --check-prefix=STACK
import hlobatch as hb


@hb.batch
def fib(n):
    if n <= 1:
        return 1
    return fib(n - 2) + fib(n - 1)


# CHECK: "autobatch.program"() {entry = @main} : () -> ()
# CHECK: "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "fib.n"} : () -> ()
# CHECK: "autobatch.prim"() {callee = @code_0, ins = [@fib.n], outs = [@fib.$if1], text = "n <= 1"} : () -> ()
# CHECK-NEXT: "autobatch.branch"()[^bb1, ^bb2] {condition = @fib.$if1} : () -> ()
# CHECK: "autobatch.call"() {callee = @fib, ins = [@fib.$3], outs = [@fib.$2]} : () -> ()

# STACK: "autobatch.push"() {variables = [@fib.n]} : () -> ()
# STACK: "autobatch.push_jump"()[^bb1, ^bb5] {counter = @fib.$return} : () -> ()
# STACK: "autobatch.indirect_jump"() {counter = @fib.$return} : () -> ()
