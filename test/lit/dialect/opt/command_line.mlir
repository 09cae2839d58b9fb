// What is wrong with a command line is said in one line, with exit status 2.

// RUN: not hlobatch-opt %s --pass-pipeline="simplify" 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not hlobatch-opt %s --pass-pipeline="simplify-cfg(" 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: not hlobatch-opt %s --to-stablehlo=depth=many 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not hlobatch-opt %s --simplify-cfg=fast=1 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not hlobatch-opt %s.none 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not hlobatch-opt %s --simplify 2>&1 | filecheck %s --check-prefix=FLAG

// PASS: hlobatch-opt: error: there is no pass 'simplify'; --help lists them
// PIPELINE: hlobatch-opt: error: this is no pipeline: 'simplify-cfg('
// VALUE: hlobatch-opt: error: to-stablehlo has no option depth=many
// OPTION: hlobatch-opt: error: simplify-cfg has no option fast=1
// FILE: hlobatch-opt: error: {{.*}}No such file
// FLAG: hlobatch-opt: error: unrecognized arguments: --simplify
