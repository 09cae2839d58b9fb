//===- Ops.cpp - The operations of the autobatch dialect --------------------===//

#include "Verifier.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace hlobatch::autobatch;

#define GET_OP_CLASSES
#include "AutobatchOps.cpp.inc"

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

/// Whether text can call a block so. The printer calls blocks without a name `bbN`, and would replace other letters.
static bool isBlockName(StringRef name) {
  auto isPunctuation = [](char c) { return StringRef("$._-").contains(c); };
  if (name.empty() || llvm::isDigit(name.front()) ||
      !llvm::all_of(name, [&](char c) { return llvm::isAlnum(c) || isPunctuation(c); }))
    return false;
  return !name.consume_front("bb") || !llvm::all_of(name, llvm::isDigit);
}

/// Blocks are called by their labels, as the program calls them. Operations that break constraints are printed as well:
/// a label may lack its name, or have that of another.
void FuncOp::getAsmBlockNames(OpAsmSetBlockNameFn setName) {
  llvm::StringSet<> taken;
  for (Block &block : getBody())
    if (LabelOp label = getLabel(block))
      if (auto name = label->getAttrOfType<StringAttr>("name"))
        if (isBlockName(name) && taken.insert(name).second)
          setName(&block, name);
}

/// Runs before MLIR verifies the blocks, so that what it would refuse in words of its own has its label.
LogicalResult FuncOp::verify() {
  for (Block &block : getBody()) {
    for (Operation &op : block) {
      if (op.getDialect() != getOperation()->getDialect())
        return emitFault(&op, "ods_c1") << "'" << op.getName() << "' is no operation of a program";
      if (op.hasTrait<OpTrait::IsTerminator>() && op.getNextNode())
        return emitFault(&op, "func_c2") << "'" << op.getName() << "' stands before the end of its block";
    }
    Operation *last = block.empty() ? getOperation() : &block.back();
    if (block.empty() || !last->hasTrait<OpTrait::IsTerminator>())
      return emitFault(last, "func_c2") << "a block does not end in a terminator";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow: blocks have no arguments, so nothing is passed to any
//===----------------------------------------------------------------------===//

SuccessorOperands BranchOp::getSuccessorOperands(unsigned) {
  return SuccessorOperands(MutableOperandRange(getOperation(), 0, 0));
}

SuccessorOperands JumpOp::getSuccessorOperands(unsigned) {
  return SuccessorOperands(MutableOperandRange(getOperation(), 0, 0));
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

/// Constraints of names span the module, and MLIR asks no dialect about a module as a whole: the first of the
/// operations that declare something in it answers for all.
static LogicalResult verifyOnce(Operation *op) {
  if (auto code = op->getParentOfType<func::FuncOp>())
    return emitFault(op, "ods_c1") << "'" << op->getName() << "' stands in @" << code.getSymName()
                                   << ", the code of a primitive";
  auto module = cast<ModuleOp>(op->getParentOp());
  for (Operation &other : module.getBody()->getOperations())
    if (isa<FuncOp, ProgramOp, VarOp>(other))
      return &other == op ? verifyProgram(module) : success();
  llvm_unreachable("an operation is among those of its module");
}

LogicalResult FuncOp::verifySymbolUses(SymbolTableCollection &) { return verifyOnce(*this); }

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &) { return verifyOnce(*this); }

LogicalResult VarOp::verifySymbolUses(SymbolTableCollection &) { return verifyOnce(*this); }
