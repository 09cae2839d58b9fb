//===- VerifyTypes.cpp - Constraints of what variables hold -----------------===//

#include "Verifier.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hlobatch::autobatch {

LogicalResult verifyVariables(Symbols &symbols) {
  for (auto op : symbols.getModule().getOps<VarOp>()) {
    FailureOr<Pattern> pattern =
        Pattern::read(op.getPattern(), [&](const Twine &why) { emitFault(op, "var_c1") << why; });
    if (failed(pattern))
      return failure();
    symbols.patterns[op.getSymName()] = std::move(*pattern);
    bool isKnown = llvm::StringSwitch<bool>(op.getAllocation().value_or("full"))
                       .Cases({"null", "shared", "temporary"}, true)
                       .Cases({"register", "full"}, true)
                       .Default(false);
    if (!isKnown)
      return emitFault(op, "var_c2") << "there is no allocation '" << *op.getAllocation() << "'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// The types that arrays of variables have in code; `isBatched` says which have the dimension of lanes.
static SmallVector<Type> getArrayTypes(const Symbols &symbols, ArrayAttr variables,
                                       function_ref<bool(StringRef)> isBatched) {
  SmallVector<Type> types;
  for (StringRef name : getNames(variables)) {
    const Pattern &pattern = symbols.patterns.find(name)->second;
    for (const Leaf *leaf : pattern.getArrays()) {
      SmallVector<int64_t> shape(leaf->stored.getShape());
      if (isBatched(name))
        shape.insert(shape.begin(), ShapedType::kDynamic);
      types.push_back(RankedTensorType::get(shape, leaf->stored.getElementType()));
    }
  }
  return types;
}

/// Types as messages have them: in a diagnostic they would stand in quotes.
static std::string toText(TypeRange types) {
  std::string text = "(";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(types, os);
  os << ")";
  return text;
}

static LogicalResult verifySame(PrimOp op, StringRef label, StringRef verb, TypeRange got, ArrayRef<Type> wanted) {
  if (got == TypeRange(wanted))
    return success();
  return emitFault(op, label) << "@" << op.getCallee() << " " << verb << " " << toText(got) << ", not "
                              << toText(wanted);
}

static LogicalResult verifyPrim(const Symbols &symbols, PrimOp op) {
  func::FuncOp code = symbols.code.lookup(op.getCallee());
  if (!code || code.isExternal())
    return emitFault(op, "prim_c2") << "there is no func.func @" << op.getCallee() << " with a body";
  auto isBatched = [&](StringRef variable) { return symbols.getAllocation(variable) != "shared"; };
  bool anyBatched = llvm::any_of(getNames(op.getIns()), [&](StringRef name) {
    return isBatched(name) && !symbols.patterns.find(name)->second.getArrays().empty();
  });
  if (failed(
          verifySame(op, "prim_c3", "takes", code.getArgumentTypes(), getArrayTypes(symbols, op.getIns(), isBatched))))
    return failure();
  return verifySame(op, "prim_c4", "gives", code.getResultTypes(),
                    getArrayTypes(symbols, op.getOuts(), [&](StringRef) { return anyBatched; }));
}

//===----------------------------------------------------------------------===//
// Moves, calls and branches
//===----------------------------------------------------------------------===//

/// Whether a value of one leaf can be stored in another; a Python object takes what comes.
static bool fits(const Leaf *source, const Leaf *target) {
  return !target->isArray() || source->shape == target->shape;
}

static LogicalResult verifyPairs(const Symbols &symbols, Operation *op, StringRef label, ArrayAttr sources,
                                 ArrayAttr targets) {
  for (auto [source, target] : llvm::zip(getNames(sources), getNames(targets))) {
    const Pattern &from = symbols.patterns.find(source)->second;
    const Pattern &to = symbols.patterns.find(target)->second;
    if (!from.hasSameTree(to) || !llvm::all_of_zip(from.getLeaves(), to.getLeaves(), fits))
      return emitFault(op, label) << "@" << source << " holds " << from.str() << ", which does not fit @" << target
                                  << ", which holds " << to.str();
  }
  return success();
}

static LogicalResult verifyMove(const Symbols &symbols, MoveOp op) {
  if (op.getIns().size() != op.getOuts().size())
    return emitFault(op, "move_c1") << op.getIns().size() << " variables are copied to " << op.getOuts().size();
  return verifyPairs(symbols, op, "move_c2", op.getIns(), op.getOuts());
}

static LogicalResult verifyBranch(const Symbols &symbols, BranchOp op) {
  const Pattern &pattern = symbols.patterns.find(op.getCondition())->second;
  if (pattern.str() == "bool[]" || pattern.str() == "bool[]*")
    return success();
  return emitFault(op, "branch_c1") << "the condition %" << op.getCondition() << " is " << pattern.str()
                                    << ", not a scalar boolean";
}

static LogicalResult verifyCall(const Symbols &symbols, CallOp op) {
  FuncOp callee = symbols.functions.lookup(op.getCallee());
  if (!callee)
    return success(); // `verifyCalls` says so.
  if (failed(verifyPairs(symbols, op, "call_c4", op.getIns(), callee.getIns())))
    return failure();
  return verifyPairs(symbols, op, "call_c4", callee.getOuts(), op.getOuts());
}

LogicalResult verifyTypes(const Symbols &symbols) {
  return forEachOp(symbols.getModule(), [&](Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](PrimOp prim) { return verifyPrim(symbols, prim); })
        .Case([&](MoveOp move) { return verifyMove(symbols, move); })
        .Case([&](BranchOp branch) { return verifyBranch(symbols, branch); })
        .Case([&](CallOp call) { return verifyCall(symbols, call); })
        .Default([](Operation *) { return success(); });
  });
}

} // namespace hlobatch::autobatch
