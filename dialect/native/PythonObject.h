//===- PythonObject.h - Python objects written as attributes -----*- C++ -*-===//
//
// The counterpart of `dialect/values.py`: numbers, strings and containers by value, classes and functions by name.
//
//===----------------------------------------------------------------------===//

#ifndef HLOBATCH_DIALECT_NATIVE_PYTHONOBJECT_H
#define HLOBATCH_DIALECT_NATIVE_PYTHONOBJECT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"

namespace hlobatch::autobatch {

/// Says why something is not what it should be.
using Fail = llvm::function_ref<void(const llvm::Twine &)>;

/// An attribute as text; `None` for a missing one, as Python has it.
std::string toText(mlir::Attribute attribute);

/// Whether an attribute describes a Python object; if not, the reason has been given to `fail`.
llvm::LogicalResult verifyObject(mlir::Attribute attribute, Fail fail);

/// An object in Python's notation, as messages have it.
std::string objectText(mlir::Attribute attribute);

/// The last part of `module:Class.name`.
llvm::StringRef getShortName(llvm::StringRef name);

} // namespace hlobatch::autobatch

#endif // HLOBATCH_DIALECT_NATIVE_PYTHONOBJECT_H
