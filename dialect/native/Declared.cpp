//===- Declared.cpp - Verifies what ODS declares, with a label --------------===//

#include "Declared.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/Threading.h"

using namespace mlir;

namespace hlobatch::autobatch {

/// Where an operation is, or else what it stands in. The parser puts a module that is not written out at line 0; its
/// place is the start of the text.
static Location getPlace(Operation *op) {
  while (isa<UnknownLoc>(op->getLoc()) && op->getParentOp())
    op = op->getParentOp();
  auto place = dyn_cast<FileLineColLoc>(op->getLoc());
  if (!place || place.getLine())
    return op->getLoc();
  return FileLineColLoc::get(place.getFilename(), 1, 1);
}

InFlightDiagnostic emitFault(Operation *op, StringRef label) { return emitError(getPlace(op)) << "[" << label << "] "; }

namespace detail {

DeclarationLabel::DeclarationLabel(MLIRContext *context) : ScopedDiagnosticHandler(context) {
  // MLIR verifies functions in parallel, and a handler hears all threads.
  setHandler([context, thread = llvm::get_threadid()](Diagnostic &diagnostic) {
    std::string text = diagnostic.str();
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error || llvm::get_threadid() != thread ||
        StringRef(text).starts_with("["))
      return failure();
    InFlightDiagnostic labelled = context->getDiagEngine().emit(diagnostic.getLocation(), DiagnosticSeverity::Error);
    labelled << "[ods_c1] " << text;
    for (Diagnostic &note : diagnostic.getNotes())
      labelled.attachNote(note.getLocation()) << note.str();
    return success();
  });
}

LogicalResult verifyAttributeNames(Operation *op, ArrayRef<StringRef> declared) {
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName().strref();
    if (!name.contains('.') && !llvm::is_contained(declared, name))
      return emitFault(op, "ods_c1") << "'" << op->getName() << "' has no attribute '" << name << "'";
  }
  return success();
}

} // namespace detail
} // namespace hlobatch::autobatch
