//===- Dialect.h - The autobatch dialect in C++ ------------------*- C++ -*-===//
//
// What `dialect/Autobatch.td` declares, as classes. Verification is in three steps, as MLIR has it: what ODS declares
// of one operation (labelled by `Declared.h`), what must hold of a function's blocks before MLIR looks at them
// (`Ops.cpp`), and everything about names, once the symbols of a module are known to be distinct (`Verifier.h`).
//
//===----------------------------------------------------------------------===//

#ifndef HLOBATCH_DIALECT_NATIVE_DIALECT_H
#define HLOBATCH_DIALECT_NATIVE_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include "AutobatchDialect.h.inc"
#include "Declared.h"

#define GET_TYPEDEF_CLASSES
#include "AutobatchTypes.h.inc"

#define GET_OP_CLASSES
#include "AutobatchOps.h.inc"

#endif // HLOBATCH_DIALECT_NATIVE_DIALECT_H
