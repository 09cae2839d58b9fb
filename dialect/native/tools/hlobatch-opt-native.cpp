//===- hlobatch-opt-native.cpp - mlir-opt for the autobatch dialect ---------===//

#include "Dialect.h"
#include "Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

int main(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<func::FuncDialect, hlobatch::autobatch::AutobatchDialect>();
  registerTransformsPasses();
  hlobatch::autobatch::registerPasses();

  // The code of primitives is StableHLO, whose C++ no package has: its operations are taken as they are. A flag given
  // on the command line comes later, and wins.
  SmallVector<char *> arguments(argv, argv + argc);
  char allow[] = "--allow-unregistered-dialect";
  bool isGiven = llvm::any_of(llvm::drop_begin(arguments),
                              [](StringRef flag) { return flag.ltrim('-').starts_with("allow-unregistered-dialect"); });
  if (!isGiven)
    arguments.insert(arguments.begin() + 1, allow);
  return asMainReturnCode(
      MlirOptMain(arguments.size(), arguments.data(), "native tool of the autobatch dialect\n", registry));
}
