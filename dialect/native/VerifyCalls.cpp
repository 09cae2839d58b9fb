//===- VerifyCalls.cpp - Constraints of calls, lowered or not ---------------===//

#include "Verifier.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hlobatch::autobatch {

/// The entry, then the other functions in the module's order.
static SmallVector<FuncOp> getFunctions(const Symbols &symbols) {
  SmallVector<FuncOp> functions{symbols.entry};
  for (auto function : symbols.getModule().getOps<FuncOp>())
    if (function != symbols.entry)
      functions.push_back(function);
  return functions;
}

static LogicalResult verifyOwners(const Symbols &symbols, ArrayRef<FuncOp> functions) {
  llvm::StringMap<StringRef> owners;
  for (FuncOp function : functions) {
    SmallVector<StringRef> written = getNames(function.getIns());
    for (Operation &op : function.getBody().getOps())
      llvm::append_range(written, getDefs(&op));
    StringRef name = symbols.getName(function);
    for (StringRef variable : written) {
      StringRef owner = owners.try_emplace(variable, name).first->second;
      if (owner != name)
        return emitFault(function, "program_c6") << owner << " and " << name << " both write %" << variable;
    }
  }
  return success();
}

static LogicalResult verifyCall(const Symbols &symbols, CallOp op) {
  FuncOp callee = symbols.functions.lookup(op.getCallee());
  if (!callee || callee == symbols.entry)
    return emitFault(op, "call_c1") << "there is no function '" << op.getCallee() << "'";
  if (op.getIns().size() != callee.getIns().size())
    return emitFault(op, "call_c2") << op.getCallee() << " takes " << callee.getIns().size() << " arguments, "
                                    << op.getIns().size() << " are given";
  if (op.getOuts().size() != callee.getOuts().size())
    return emitFault(op, "call_c3") << op.getCallee() << " has " << callee.getOuts().size() << " results, "
                                    << op.getOuts().size() << " are taken";
  return success();
}

static LogicalResult verifyCounter(const Symbols &symbols, Operation *op, StringRef counter) {
  std::string held = symbols.patterns.find(counter)->second.str();
  StringRef allocation = symbols.getAllocation(counter);
  if (held != "i32[]")
    return emitFault(op, "push_jump_c3") << "the return address %" << counter << " is " << held << ", not i32[]";
  if (allocation != "full" && allocation != "register")
    return emitFault(op, "push_jump_c3") << "the return address %" << counter << " is " << allocation.upper();
  return success();
}

static LogicalResult verifyPushJump(const Symbols &symbols, FuncOp function, PushJumpOp op) {
  if (isWayOut(*op.getReturnDest()))
    return emitFault(op, "push_jump_c1") << "'halt' is no block of " << symbols.getName(function);
  if (symbols.functions.size() > 1)
    return emitFault(op, "push_jump_c2") << "calls are lowered here but functions are left";
  return verifyCounter(symbols, op, op.getCounter());
}

template <typename OpT> static LogicalResult verifyDistinct(OpT op) {
  llvm::SmallSet<StringRef, 8> seen;
  for (StringRef name : getNames(op.getOuts()))
    if (!seen.insert(name).second)
      return emitFault(op, "prim_c1") << "two results go to the same variable";
  return success();
}

static LogicalResult verifyOp(const Symbols &symbols, FuncOp function, Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](CallOp call) { return verifyCall(symbols, call); })
      .Case([&](PushJumpOp jump) { return verifyPushJump(symbols, function, jump); })
      .Case([&](IndirectJumpOp jump) { return verifyCounter(symbols, jump, jump.getCounter()); })
      .Case<MoveOp, PrimOp>([](auto prim) { return verifyDistinct(prim); })
      .Default([](Operation *) { return success(); });
}

LogicalResult verifyCalls(const Symbols &symbols) {
  SmallVector<FuncOp> functions = getFunctions(symbols);
  for (FuncOp function : llvm::drop_begin(functions))
    if (function.getSymName() == "main") // what programs call their entry
      return emitFault(function, "program_c4") << "there are two functions called 'main'";
  if (failed(verifyOwners(symbols, functions)))
    return failure();
  for (FuncOp function : functions)
    for (Operation &op : function.getBody().getOps())
      if (failed(verifyOp(symbols, function, op)) || failed(verifyAllocation(symbols, function, op)))
        return failure();
  return success();
}

} // namespace hlobatch::autobatch
