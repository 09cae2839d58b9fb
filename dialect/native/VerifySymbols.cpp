//===- VerifySymbols.cpp - Constraints of names and of the program ----------===//

#include "Verifier.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace hlobatch::autobatch {

/// Bytecode of an operation whose attributes are its class's own to write loads without an error where the class is not
/// known, but as one attribute of another kind. Better no module than a wrong one.
static LogicalResult verifyLoaded(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    Attribute properties = op->isRegistered() ? Attribute() : op->getPropertiesAsAttribute();
    if (!properties || isa<DictionaryAttr>(properties))
      return WalkResult::advance();
    emitError(op->getLoc()) << "the attributes of '" << op->getName()
                            << "' were written by a tool that knows it, and this one does not: "
                               "take text in generic form instead";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Attributes that are locations: MLIR's bindings for Python cannot read them.
static LogicalResult verifyNoLocations(ModuleOp module) {
  WalkResult result = module.walk<WalkOrder::PreOrder>([](Operation *op) {
    WalkResult inner = op->getAttrDictionary().walk([](LocationAttr) { return WalkResult::interrupt(); });
    if (inner.wasInterrupted())
      emitFault(op, "ods_c1") << "'" << op->getName() << "' has an attribute that is a location";
    return inner;
  });
  return failure(result.wasInterrupted());
}

LogicalResult verifyProgram(ModuleOp module) {
  Symbols symbols(module);
  if (failed(verifyLoaded(module)) || failed(verifyNoLocations(module)) || failed(verifySymbols(symbols)) || failed(verifyBlocks(symbols)) ||
      failed(verifyVariables(symbols)) || failed(verifyTypes(symbols)))
    return failure();
  return verifyCalls(symbols);
}

static LogicalResult verifyOneProgram(ModuleOp module) {
  SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
  if (programs.size() == 1)
    return success();
  Operation *at = programs.empty() ? module.getOperation() : programs[1].getOperation();
  return emitFault(at, "program_c7") << "a module has one 'autobatch.program', this one has " << programs.size();
}

/// The variables that an operation names, those of a function among them.
static SmallVector<StringRef> getVariables(Operation *op) {
  SmallVector<StringRef> names;
  for (StringRef list : {"ins", "outs", "variables"})
    if (auto variables = op->getAttrOfType<ArrayAttr>(list))
      llvm::append_range(names, getNames(variables));
  for (StringRef single : {"condition", "counter"})
    if (auto variable = op->getAttrOfType<FlatSymbolRefAttr>(single))
      names.push_back(variable.getValue());
  return names;
}

static LogicalResult verifyNames(const Symbols &symbols, Operation *op) {
  bool isCode = isa<func::FuncOp>(op);
  if (!isCode && !isa_and_nonnull<AutobatchDialect>(op->getDialect()))
    return emitFault(op, "ods_c1") << "'" << op->getName() << "' is no operation of a program";
  if (isCode) {
    Attribute cost = op->getAttr("autobatch.cost");
    if (cost && !isa<FloatAttr>(cost))
      return emitFault(op, "ods_c1") << "attribute 'autobatch.cost' is not a number";
    return success();
  }
  if (auto program = dyn_cast<ProgramOp>(op))
    if (!symbols.functions.contains(program.getEntry()))
      return emitFault(op, "program_c7") << "there is no function @" << program.getEntry() << " to start at";
  for (StringRef name : getVariables(op))
    if (!symbols.variables.contains(name))
      return emitFault(op, "program_c5") << "there is no variable @" << name;
  if (auto function = dyn_cast<FuncOp>(op)) {
    llvm::SmallSet<StringRef, 8> seen;
    for (StringRef name : getNames(function.getIns()))
      if (!seen.insert(name).second)
        return emitFault(op, "func_c4") << "@" << function.getSymName() << " has two parameters of the same name";
  }
  return success();
}

LogicalResult verifySymbols(const Symbols &symbols) {
  if (failed(verifyOneProgram(symbols.getModule())))
    return failure();
  return forEachOp(symbols.getModule(), [&](Operation *op) { return verifyNames(symbols, op); });
}

} // namespace hlobatch::autobatch
