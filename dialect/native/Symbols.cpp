//===- Symbols.cpp - The symbols of a module, by kind -----------------------===//

#include "Symbols.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hlobatch::autobatch {

Symbols::Symbols(ModuleOp module) : module(module) {
  for (auto op : module.getOps<VarOp>())
    variables[op.getSymName()] = op;
  for (auto op : module.getOps<FuncOp>())
    functions[op.getSymName()] = op;
  for (auto op : module.getOps<func::FuncOp>())
    code[op.getSymName()] = op;
  for (auto op : module.getOps<ProgramOp>())
    entry = functions.lookup(op.getEntry());
}

StringRef Symbols::getName(FuncOp function) const { return function == entry ? "main" : function.getSymName(); }

StringRef Symbols::getAllocation(StringRef variable) const {
  return variables.lookup(variable).getAllocation().value_or("full");
}

LogicalResult forEachOp(ModuleOp module, function_ref<LogicalResult(Operation *)> visit) {
  for (Operation &op : module.getBody()->getOperations()) {
    if (failed(visit(&op)))
      return failure();
    if (auto function = dyn_cast<FuncOp>(op))
      for (Operation &inner : function.getBody().getOps())
        if (failed(visit(&inner)))
          return failure();
  }
  return success();
}

SmallVector<StringRef> getNames(ArrayAttr variables) {
  return llvm::map_to_vector(variables.getAsRange<FlatSymbolRefAttr>(),
                             [](FlatSymbolRefAttr v) { return v.getValue(); });
}

SmallVector<StringRef> getUses(Operation *op) {
  using Names = SmallVector<StringRef>;
  return llvm::TypeSwitch<Operation *, Names>(op)
      .Case<CallOp, MoveOp, PrimOp>([](auto op) { return getNames(op.getIns()); })
      .Case([](PushOp op) { return getNames(op.getVariables()); })
      .Case([](BranchOp op) { return Names{op.getCondition()}; })
      .Case<IndirectJumpOp, PushJumpOp>([](auto op) { return Names{op.getCounter()}; })
      .Default([](Operation *) { return Names(); });
}

SmallVector<StringRef> getDefs(Operation *op) {
  using Names = SmallVector<StringRef>;
  return llvm::TypeSwitch<Operation *, Names>(op)
      .Case<CallOp, MoveOp, PrimOp>([](auto op) { return getNames(op.getOuts()); })
      .Case([](PopOp op) { return getNames(op.getVariables()); })
      .Case<IndirectJumpOp, PushJumpOp>([](auto op) { return Names{op.getCounter()}; })
      .Default([](Operation *) { return Names(); });
}

} // namespace hlobatch::autobatch
