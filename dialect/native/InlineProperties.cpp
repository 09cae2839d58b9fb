//===- InlineProperties.cpp - Properties of unknown operations as attributes -===//
//
// `"stablehlo.constant"() <{value = …}>` -> `"stablehlo.constant"() {value = …}`
//
// This tool keeps the attributes of an operation that it does not know as one attribute, and writes that to bytecode. A
// tool that knows the operation expects them in the form of its class, or as plain attributes, which every tool reads.
//
//===----------------------------------------------------------------------===//

#include "Passes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace hlobatch::autobatch {
namespace {

struct InlineProperties : public PassWrapper<InlineProperties, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InlineProperties)

  StringRef getArgument() const override { return "inline-properties"; }

  StringRef getDescription() const override {
    return "Write properties of unregistered operations as attributes, so "
           "that bytecode is read where they are registered";
  }

  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (op->isRegistered())
        return;
      auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
      if (!properties)
        return;
      *op->getPropertiesStorage().as<Attribute *>() = Attribute();
      for (NamedAttribute attribute : properties)
        op->setAttr(attribute.getName(), attribute.getValue());
    });
  }
};

} // namespace

void registerPasses() { PassRegistration<InlineProperties>(); }

} // namespace hlobatch::autobatch
