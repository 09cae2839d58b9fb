//===- Pattern.h - What a variable holds -------------------------*- C++ -*-===//
//
// The `pattern` of an `autobatch.var` as a tree: containers, and leaves that are arrays or Python objects. The
// counterpart of `dialect/patterns.py`, with its messages.
//
//===----------------------------------------------------------------------===//

#ifndef HLOBATCH_DIALECT_NATIVE_PATTERN_H
#define HLOBATCH_DIALECT_NATIVE_PATTERN_H

#include "PythonObject.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

namespace hlobatch::autobatch {

/// One array or Python object per lane.
struct Leaf {
  /// What the array is stored as, without the dimension of lanes; null for a Python object.
  mlir::RankedTensorType stored;
  /// The shape of the array; that of keys is without their words.
  llvm::SmallVector<int64_t> shape;
  /// The generator of an array of keys, else empty.
  std::string generator;
  /// Whether the array is a Python number that adopts the element type of what it meets.
  bool weak = false;
  /// The Python object; null for an array.
  mlir::Attribute object;

  bool isArray() const { return bool(stored); }
};

/// A leaf, or a container and what it holds.
struct Pattern {
  std::optional<Leaf> leaf;
  /// What tells containers of the same size apart: the kind, a class, its keys. Empty for a tuple.
  llvm::SmallVector<mlir::Attribute> header;
  /// Whether it is a namedtuple, whose fields are then in the header.
  bool isNamedTuple = false;
  std::vector<Pattern> items;

  /// Reads a pattern; on failure the reason has been given to `fail`.
  static llvm::FailureOr<Pattern> read(mlir::Attribute attribute, Fail fail);

  /// All leaves, in order.
  llvm::SmallVector<const Leaf *> getLeaves() const;

  /// The leaves that are arrays, in order.
  llvm::SmallVector<const Leaf *> getArrays() const;

  /// Whether two patterns are the same containers around the same number of leaves.
  bool hasSameTree(const Pattern &other) const;

  /// The pattern in Python's notation, as in `(i32[], bool[2])`.
  std::string str() const;
};

} // namespace hlobatch::autobatch

#endif // HLOBATCH_DIALECT_NATIVE_PATTERN_H
