//===- Symbols.h - The symbols of a module, by kind --------------*- C++ -*-===//

#ifndef HLOBATCH_DIALECT_NATIVE_SYMBOLS_H
#define HLOBATCH_DIALECT_NATIVE_SYMBOLS_H

#include "Dialect.h"
#include "Pattern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace hlobatch::autobatch {

class Symbols {
public:
  explicit Symbols(mlir::ModuleOp module);

  mlir::ModuleOp getModule() const { return module; }

  llvm::StringMap<VarOp> variables;
  llvm::StringMap<FuncOp> functions;
  llvm::StringMap<mlir::func::FuncOp> code;

  /// What each variable holds; filled in by `verifyVariables`.
  llvm::StringMap<Pattern> patterns;

  /// The function lanes start in; null where `program_c7` is broken.
  FuncOp entry;

  /// What messages call a function: the entry is `main` whatever its symbol, as in programs.
  llvm::StringRef getName(FuncOp function) const;

  /// How a variable is stored: `full`, which suffices for every variable, where nothing is said.
  llvm::StringRef getAllocation(llvm::StringRef variable) const;

private:
  mlir::ModuleOp module;
};

/// Calls `visit` with each operation of the program, those in functions after their function, until it fails.
llvm::LogicalResult forEachOp(mlir::ModuleOp module, llvm::function_ref<llvm::LogicalResult(mlir::Operation *)> visit);

/// The names in a list of variables.
llvm::SmallVector<llvm::StringRef> getNames(mlir::ArrayAttr variables);

/// The variables whose values an operation reads; a push reads what it saves.
llvm::SmallVector<llvm::StringRef> getUses(mlir::Operation *op);

/// The variables whose current values an operation replaces.
llvm::SmallVector<llvm::StringRef> getDefs(mlir::Operation *op);

} // namespace hlobatch::autobatch

#endif // HLOBATCH_DIALECT_NATIVE_SYMBOLS_H
