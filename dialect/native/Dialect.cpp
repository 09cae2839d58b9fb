//===- Dialect.cpp - The autobatch dialect: registration and types ----------===//

#include "Dialect.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hlobatch::autobatch;

#include "AutobatchDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "AutobatchTypes.cpp.inc"

void AutobatchDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "AutobatchTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "AutobatchOps.cpp.inc"
      >();
}

Type AutobatchDialect::parseType(DialectAsmParser &parser) const {
  SMLoc start = parser.getCurrentLocation();
  StringRef mnemonic;
  Type type;
  OptionalParseResult parsed = generatedTypeParser(parser, &mnemonic, type);
  if (!parsed.has_value())
    parser.emitError(start, "[var_c1] !autobatch.") << parser.getFullSymbolSpec() << " is no array of static shape";
  return type;
}

void AutobatchDialect::printType(Type type, DialectAsmPrinter &printer) const {
  if (failed(generatedTypePrinter(type, printer)))
    llvm_unreachable("a type of another dialect");
}
