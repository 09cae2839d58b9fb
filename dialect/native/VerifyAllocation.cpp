//===- VerifyAllocation.cpp - Constraints of how variables are stored -------===//

#include "Verifier.h"

using namespace mlir;

namespace hlobatch::autobatch {

static LogicalResult verifyStack(const Symbols &symbols, Operation &op, ArrayAttr variables) {
  for (StringRef name : getNames(variables)) {
    StringRef allocation = symbols.getAllocation(name);
    if (allocation != "full" && allocation != "null")
      return emitFault(&op, "push_c1") << "%" << name << " is " << allocation.upper() << " and has no stack";
  }
  return success();
}

static bool isDefinedBefore(Operation &op, StringRef name) {
  for (Operation *other = op.getPrevNode(); other; other = other->getPrevNode())
    if (llvm::is_contained(getDefs(other), name))
      return true;
  return false;
}

/// Whether nothing of a variable is kept for each lane.
static bool isComputedOnce(StringRef allocation) { return allocation == "shared" || allocation == "null"; }

/// Whether an operation is the one place where a shared variable gets its value.
static bool definesShared(const Symbols &symbols, FuncOp function, Operation &op) {
  Block *entry = &function.getBody().front();
  if (isWayIn(*entry))
    entry = entry->getNextNode();
  return isa<MoveOp, PrimOp>(op) && op.getBlock() == entry && llvm::all_of(getUses(&op), [&](StringRef name) {
           return isComputedOnce(symbols.getAllocation(name));
         });
}

/// Whether all results are computed once if one of them is.
static LogicalResult verifyComputedTogether(const Symbols &symbols, Operation &op) {
  SmallVector<StringRef> defs(getDefs(&op));
  auto *shared = llvm::find_if(defs, [&](StringRef name) { return symbols.getAllocation(name) == "shared"; });
  auto *other = llvm::find_if(defs, [&](StringRef name) { return !isComputedOnce(symbols.getAllocation(name)); });
  if (shared != defs.end() && other != defs.end())
    return emitFault(&op, "alloc_c4") << "%" << *shared << " is SHARED but %" << *other << " is "
                                      << symbols.getAllocation(*other).upper();
  return success();
}

static LogicalResult verifyUses(const Symbols &symbols, Operation &op) {
  if (isa<IndirectJumpOp, PushJumpOp>(op))
    return success(); // push_jump_c3 is about counters.
  for (StringRef name : getUses(&op)) {
    StringRef allocation = symbols.getAllocation(name);
    if (allocation == "temporary" && !isDefinedBefore(op, name))
      return emitFault(&op, "alloc_c1") << "%" << name << " is TEMPORARY but has no value here";
    if (allocation == "null" && !symbols.patterns.find(name)->second.getArrays().empty())
      return emitFault(&op, "alloc_c2") << "%" << name << " is NULL but is read";
  }
  return success();
}

LogicalResult verifyAllocation(const Symbols &symbols, FuncOp function, Operation &op) {
  if (auto push = dyn_cast<PushOp>(op))
    if (failed(verifyStack(symbols, op, push.getVariables())))
      return failure();
  if (auto pop = dyn_cast<PopOp>(op))
    if (failed(verifyStack(symbols, op, pop.getVariables())))
      return failure();
  if (failed(verifyUses(symbols, op)))
    return failure();
  for (StringRef name : getDefs(&op))
    if (symbols.getAllocation(name) == "shared" && !definesShared(symbols, function, op))
      return emitFault(&op, "alloc_c3") << "%" << name << " is SHARED but is written here";
  return verifyComputedTogether(symbols, op);
}

} // namespace hlobatch::autobatch
