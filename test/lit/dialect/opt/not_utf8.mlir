// Text has to be UTF-8.

// RUN: %python -c "open('%t', 'wb').write(b'\x6eothing\n\xff')"
// RUN: not hlobatch-opt %t 2>&1 | filecheck %s
// RUN: not hlobatch-opt %t --split-input-file 2>&1 | filecheck %s

// CHECK: :2:1: error: the text is not UTF-8
