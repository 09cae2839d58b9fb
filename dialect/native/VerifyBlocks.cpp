//===- VerifyBlocks.cpp - Constraints of blocks -----------------------------===//

#include "Verifier.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hlobatch::autobatch {

LabelOp getLabel(Block &block) { return block.empty() ? LabelOp() : dyn_cast<LabelOp>(block.front()); }

bool isWayIn(Block &block) {
  return block.isEntryBlock() && llvm::hasSingleElement(block) && isa<JumpOp>(block.front());
}

bool isWayOut(Block &block) {
  return !block.isEntryBlock() && llvm::hasSingleElement(block) && isa<ReturnOp>(block.front());
}

static LogicalResult verifyBlock(Block &block) {
  if (block.getNumArguments())
    return emitFault(&block.front(), "func_c3") << "a block has arguments";
  Operation *terminator = &block.back();
  for (Operation &op : block) {
    if (auto call = dyn_cast<CallOp>(op))
      if (op.getNextNode() != terminator)
        return emitFault(&op, "call_c5") << "the call of @" << call.getCallee()
                                         << " does not stand right before the terminator";
    if (auto label = dyn_cast<LabelOp>(op))
      if (op.getPrevNode())
        return emitFault(&op, "label_c1")
               << "label \"" << label.getName() << "\" is not the first operation of its block";
  }
  return success();
}

static LogicalResult verifyWayIn(FuncOp function) {
  Block &entry = function.getBody().front();
  if (!isWayIn(entry))
    return success();
  // A jump names a block other than the entry, so there is a next one.
  Block *next = entry.getNextNode();
  if (entry.front().getSuccessor(0) == next && !isWayOut(*next))
    return success();
  return emitFault(&entry.front(), "func_c1")
         << "the way into @" << function.getSymName() << " does not lead to its next block";
}

static LogicalResult verifyBlockNames(FuncOp function) {
  llvm::StringSet<> seen;
  seen.insert("halt");
  for (auto [index, block] : llvm::enumerate(function.getBody())) {
    if (isWayIn(block) || isWayOut(block))
      continue;
    LabelOp label = getLabel(block);
    std::string name = label ? label.getName().str() : "bb" + std::to_string(index);
    if (!seen.insert(name).second)
      return emitFault(&block.front(), "program_c1") << "block name '" << name << "' is taken";
  }
  return success();
}

LogicalResult verifyBlocks(const Symbols &symbols) {
  for (auto function : symbols.getModule().getOps<FuncOp>()) {
    if (function.getBody().empty())
      return emitFault(function, "program_c2") << "@" << function.getSymName() << " has no block";
    for (Block &block : function.getBody())
      if (failed(verifyBlock(block)))
        return failure();
    if (failed(verifyWayIn(function)) || failed(verifyBlockNames(function)))
      return failure();
  }
  return success();
}

} // namespace hlobatch::autobatch
