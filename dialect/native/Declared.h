//===- Declared.h - Verifies what ODS declares, with a label -----*- C++ -*-===//
//
// `ods_c1` is what generated code and MLIR's traits verify; their messages have no label. Operations therefore answer
// `getVerifyInvariantsFn` by `verifyDeclared`, which runs the same checks, puts the label before what they say, and
// also refuses attributes that nobody declared: MLIR takes any.
//
//===----------------------------------------------------------------------===//

#ifndef HLOBATCH_DIALECT_NATIVE_DECLARED_H
#define HLOBATCH_DIALECT_NATIVE_DECLARED_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OpDefinition.h"

namespace hlobatch::autobatch {

/// Starts the message of a constraint that `op` breaks.
mlir::InFlightDiagnostic emitFault(mlir::Operation *op, llvm::StringRef label);

namespace detail {

/// Puts `[ods_c1]` before the errors of its thread that have no label, as long as it lives.
class DeclarationLabel : public mlir::ScopedDiagnosticHandler {
public:
  explicit DeclarationLabel(mlir::MLIRContext *context);
};

/// Refuses attributes without a dialect's prefix that are not among the declared ones.
llvm::LogicalResult verifyAttributeNames(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> declared);

/// Runs the traits of an operation; the second argument only tells which they are.
template <typename OpT, template <typename> class... Traits>
llvm::LogicalResult verifyTraitsOf(mlir::Operation *op, mlir::Op<OpT, Traits...> *) {
  return mlir::op_definition_impl::verifyTraits<Traits<OpT>...>(op);
}

} // namespace detail

/// Verifies what is declared of an operation, then runs its own verifier.
template <typename OpT> llvm::LogicalResult verifyDeclared(mlir::Operation *op) {
  {
    detail::DeclarationLabel label(op->getContext());
    if (failed(detail::verifyTraitsOf(op, static_cast<OpT *>(nullptr))) ||
        failed(detail::verifyAttributeNames(op, OpT::getAttributeNames())))
      return llvm::failure();
  }
  return mlir::cast<OpT>(op).verify();
}

} // namespace hlobatch::autobatch

#endif // HLOBATCH_DIALECT_NATIVE_DECLARED_H
