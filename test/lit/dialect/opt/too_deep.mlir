// Brackets nested beyond what MLIR's parser can take are refused where they become too many.

// RUN: %python -c "print('[' * 20000, file=open('%t', 'w'))"
// RUN: not hlobatch-opt %t 2>&1 | filecheck %s

// CHECK: :1:257: error: more than 256 brackets are open here
