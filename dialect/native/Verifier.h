//===- Verifier.h - What must hold of a module as a program ------*- C++ -*-===//
//
// The steps of `dialect/verifier.py` and `hlobatch/ir/verifier.py`, in their order and with their labels, so that a
// module with several faults has the same first one in both tools. Each step relies on those before it.
//
//===----------------------------------------------------------------------===//

#ifndef HLOBATCH_DIALECT_NATIVE_VERIFIER_H
#define HLOBATCH_DIALECT_NATIVE_VERIFIER_H

#include "Dialect.h"
#include "Symbols.h"

namespace hlobatch::autobatch {

/// All constraints but those that MLIR sees to before: `ods_c1`, `func_c2`, `program_c3`, `program_c4`.
llvm::LogicalResult verifyProgram(mlir::ModuleOp module);

/// program_c5, program_c7, func_c4.
llvm::LogicalResult verifySymbols(const Symbols &symbols);

/// func_c1, func_c3, call_c5, label_c1, program_c1, program_c2.
llvm::LogicalResult verifyBlocks(const Symbols &symbols);

/// var_c1, var_c2; fills in the patterns of variables.
llvm::LogicalResult verifyVariables(Symbols &symbols);

/// prim_c2 to prim_c4, move_c1, move_c2, branch_c1, call_c4.
llvm::LogicalResult verifyTypes(const Symbols &symbols);

/// program_c6, call_c1 to call_c3, push_jump_c1 to push_jump_c3, prim_c1, and that no function takes the entry's name.
llvm::LogicalResult verifyCalls(const Symbols &symbols);

/// push_c1, alloc_c1 to alloc_c4.
llvm::LogicalResult verifyAllocation(const Symbols &symbols, FuncOp function, mlir::Operation &op);

/// The label of a block, if it has one.
LabelOp getLabel(mlir::Block &block);

/// Whether an entry block stands for no block of the program: it has no label and only jumps.
bool isWayIn(mlir::Block &block);

/// Whether a block stands for the exit: it is not the entry, has no label, and only returns.
bool isWayOut(mlir::Block &block);

} // namespace hlobatch::autobatch

#endif // HLOBATCH_DIALECT_NATIVE_VERIFIER_H
