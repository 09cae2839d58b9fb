// The sum 1 + 2 + … + n of each lane, by the smallest program-counter machine of the form for which a fault of XLA's was
// seen on a GPU: a loop of two blocks, each behind a loop of at most one turn that stands for "if anyone waits there".
//
// With WHILE and CONDITIONAL in xla_gpu_enable_command_buffer, XLA makes these loops nodes of a CUDA graph. In such
// a graph, `dispatch="guarded"` of Fibonacci gave sixteen ones on an H100 (jax 0.11.2); without, it was right.
// test_captured_loops.py runs this on a GPU, both ways.
//
// Block 0: a lane whose n is 0 is done (counter 2); all others go on to block 1. Block 1: add n, count down, back to 0.
module @captured_loops {
  func.func public @main(%n: tensor<16xi32>) -> tensor<16xi32> {
    %zero = stablehlo.constant dense<0> : tensor<16xi32>
    %first = stablehlo.constant dense<0> : tensor<i32>
    %state:4 = stablehlo.while(%pc = %zero, %left = %n, %sum = %zero, %next = %first)
        : tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<i32>
    cond {
      %done = stablehlo.constant dense<2> : tensor<i32>
      %someone = stablehlo.compare LT, %next, %done, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %someone : tensor<i1>
    } do {
      %no = stablehlo.constant dense<false> : tensor<i1>
      %0 = stablehlo.constant dense<0> : tensor<16xi32>
      %1 = stablehlo.constant dense<1> : tensor<16xi32>
      %2 = stablehlo.constant dense<2> : tensor<16xi32>
      %at_0 = stablehlo.compare EQ, %pc, %0, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
      %any_0 = stablehlo.reduce(%at_0 init: %no) applies stablehlo.or across dimensions = [0]
          : (tensor<16xi1>, tensor<i1>) -> tensor<i1>
      %asked:2 = stablehlo.while(%pc_0 = %pc, %if_0 = %any_0) : tensor<16xi32>, tensor<i1>
      cond {
        stablehlo.return %if_0 : tensor<i1>
      } do {
        %here = stablehlo.compare EQ, %pc_0, %0, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
        %is_last = stablehlo.compare LE, %left, %0, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
        %then = stablehlo.select %is_last, %2, %1 : tensor<16xi1>, tensor<16xi32>
        %moved = stablehlo.select %here, %then, %pc_0 : tensor<16xi1>, tensor<16xi32>
        stablehlo.return %moved, %no : tensor<16xi32>, tensor<i1>
      }
      %at_1 = stablehlo.compare EQ, %asked#0, %1, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
      %any_1 = stablehlo.reduce(%at_1 init: %no) applies stablehlo.or across dimensions = [0]
          : (tensor<16xi1>, tensor<i1>) -> tensor<i1>
      %added:4 = stablehlo.while(%pc_1 = %asked#0, %left_1 = %left, %sum_1 = %sum, %if_1 = %any_1)
          : tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<i1>
      cond {
        stablehlo.return %if_1 : tensor<i1>
      } do {
        %here = stablehlo.compare EQ, %pc_1, %1, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
        %more = stablehlo.add %sum_1, %left_1 : tensor<16xi32>
        %less = stablehlo.subtract %left_1, %1 : tensor<16xi32>
        %sum_new = stablehlo.select %here, %more, %sum_1 : tensor<16xi1>, tensor<16xi32>
        %left_new = stablehlo.select %here, %less, %left_1 : tensor<16xi1>, tensor<16xi32>
        %moved = stablehlo.select %here, %0, %pc_1 : tensor<16xi1>, tensor<16xi32>
        stablehlo.return %moved, %left_new, %sum_new, %no
            : tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<i1>
      }
      %most = stablehlo.constant dense<2147483647> : tensor<i32>
      %least = stablehlo.reduce(%added#0 init: %most) applies stablehlo.minimum across dimensions = [0]
          : (tensor<16xi32>, tensor<i32>) -> tensor<i32>
      stablehlo.return %added#0, %added#1, %added#2, %least
          : tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<i32>
    }
    return %state#2 : tensor<16xi32>
  }
}
