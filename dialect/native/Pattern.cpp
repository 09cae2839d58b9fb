//===- Pattern.cpp - What a variable holds ----------------------------------===//

#include "Pattern.h"

#include "Dialect.h"
#include "PythonObject.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace hlobatch::autobatch {

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The name of an element type in messages, which are JAX's; empty for one that JAX does not have.
static std::string getElementName(Type element) {
  std::string text = toText(element);
  StringRef name = text;
  if (name == "i1")
    return "bool";
  if (name == "complex<f32>" || name == "complex<f64>")
    return name == "complex<f32>" ? "c64" : "c128";
  if (name.starts_with("f4E") || name.starts_with("f6E") || name.starts_with("f8E")) {
    std::string lower = name.lower();
    return "float" + lower.substr(1, 1) + "_" + lower.substr(2);
  }
  bool isKnown = llvm::StringSwitch<bool>(name)
                     .Cases({"i2", "i4", "i8", "i16", "i32", "i64"}, true)
                     .Cases({"ui1", "ui2", "ui4", "ui8"}, true)
                     .Cases({"ui16", "ui32", "ui64"}, true)
                     .Cases({"f16", "bf16", "f32", "f64"}, true)
                     .Default(false);
  if (!isKnown)
    return "";
  return name.consume_front("ui") ? ("u" + name).str() : text;
}

static std::string arrayText(StringRef element, ArrayRef<int64_t> shape) {
  std::string text = element.str() + "[";
  llvm::raw_string_ostream os(text);
  llvm::interleave(shape, os, ",");
  os << "]";
  return text;
}

static FailureOr<RankedTensorType> readTensor(Type type, Fail fail) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding())
    return fail(toText(type) + " is no array of static shape"), failure();
  if (getElementName(tensor.getElementType()).empty())
    return fail("JAX has no arrays of " + toText(tensor.getElementType())), failure();
  return tensor;
}

static FailureOr<Leaf> readKey(KeyType key, Fail fail) {
  FailureOr<RankedTensorType> words = readTensor(key.getWords(), fail);
  if (failed(words))
    return failure();
  int64_t count = llvm::StringSwitch<int64_t>(key.getGenerator()).Case("fry", 2).Cases({"rbg", "urbg"}, 4).Default(0);
  ArrayRef<int64_t> shape = words->getShape();
  Type element = words->getElementType();
  if (count && !shape.empty() && shape.back() == count && element.isUnsignedInteger(32))
    return Leaf{*words, SmallVector<int64_t>(shape.drop_back()), key.getGenerator().str(), /*weak=*/false,
                /*object=*/{}};
  fail("no generator '" + key.getGenerator() + "' has keys of the words " + arrayText(getElementName(element), shape));
  return failure();
}

static FailureOr<Leaf> readLeaf(Type type, Fail fail) {
  if (auto key = dyn_cast<KeyType>(type))
    return readKey(key, fail);
  auto weak = dyn_cast<WeakType>(type);
  bool isNested = weak && !isa<TensorType>(weak.getValue());
  if (isNested)
    return fail(toText(type) + " is no array of static shape"), failure();
  FailureOr<RankedTensorType> tensor = readTensor(weak ? weak.getValue() : type, fail);
  if (failed(tensor))
    return failure();
  return Leaf{*tensor, SmallVector<int64_t>(tensor->getShape()),
              /*generator=*/"", bool(weak), /*object=*/{}};
}

//===----------------------------------------------------------------------===//
// Containers
//===----------------------------------------------------------------------===//

/// The items of an array of as many objects as a container has items: its keys or names of its fields.
static FailureOr<ArrayAttr> readNames(Attribute attribute, size_t count, Fail fail) {
  auto names = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!names)
    return fail(toText(attribute) + " is no array"), failure();
  for (Attribute name : names)
    if (failed(verifyObject(name, fail)))
      return failure();
  if (names.size() != count)
    return fail(toText(attribute) + " does not name " + Twine(count) + " items"), failure();
  return names;
}

/// Whether one key comes before another; only keys of one kind have an order.
static bool isBefore(Attribute left, Attribute right) {
  if (isa<StringAttr>(left) && isa<StringAttr>(right))
    return cast<StringAttr>(left).getValue() < cast<StringAttr>(right).getValue();
  if (isa<IntegerAttr>(left) && isa<IntegerAttr>(right))
    return cast<IntegerAttr>(left).getInt() < cast<IntegerAttr>(right).getInt();
  return left != right;
}

static LogicalResult verifyKeys(ArrayAttr keys, Fail fail) {
  for (auto [left, right] : llvm::zip(keys, llvm::drop_begin(keys)))
    if (!isBefore(left, right)) {
      std::string text;
      llvm::raw_string_ostream os(text);
      llvm::interleaveComma(keys, os, [&](Attribute k) { os << objectText(k); });
      return fail("[" + text + "] are no keys in order"), failure();
    }
  return success();
}

/// Whether names can be those of a namedtuple's fields.
static bool areFields(ArrayAttr names) {
  llvm::StringSet<> seen;
  return llvm::all_of(names, [&](Attribute name) {
    auto text = dyn_cast<StringAttr>(name);
    return text && !text.empty() && llvm::isAlpha(text.getValue().front()) &&
           llvm::all_of(text.getValue(), [](char c) { return llvm::isAlnum(c) || c == '_'; }) &&
           seen.insert(text.getValue()).second;
  });
}

/// What distinguishes a container that is written as a dictionary.
static LogicalResult readHeader(DictionaryAttr entries, Pattern &pattern, Fail fail) {
  auto kind = dyn_cast<StringAttr>(entries.get("node"));
  if (!kind)
    return fail(toText(entries.get("node")) + " is no string"), failure();
  pattern.header.push_back(kind);
  StringRef name = kind.getValue();
  if (name == "list" || (name == "none" && pattern.items.empty()))
    return success();
  size_t count = pattern.items.size();
  if (name == "dict") {
    FailureOr<ArrayAttr> keys = readNames(entries.get("keys"), count, fail);
    if (failed(keys) || failed(verifyKeys(*keys, fail)))
      return failure();
    return pattern.header.push_back(*keys), success();
  }
  if (Attribute fields = entries.get("fields"); fields && name != "none") {
    FailureOr<ArrayAttr> names = readNames(fields, count, fail);
    if (failed(names))
      return failure();
    if (areFields(*names))
      return pattern.isNamedTuple = true, pattern.header.push_back(*names), success();
  } else if (name != "none") {
    if (failed(verifyObject(entries.get("data"), fail)))
      return failure();
    return pattern.header.push_back(entries.get("data")), success();
  }
  return fail(toText(Attribute(entries)) + " describes no type"), failure();
}

static LogicalResult readItems(ArrayAttr items, Pattern &pattern, Fail fail) {
  for (Attribute item : items) {
    FailureOr<Pattern> read = Pattern::read(item, fail);
    if (failed(read))
      return failure();
    pattern.items.push_back(std::move(*read));
  }
  return success();
}

FailureOr<Pattern> Pattern::read(Attribute attribute, Fail fail) {
  Pattern pattern;
  if (auto type = dyn_cast<TypeAttr>(attribute)) {
    FailureOr<Leaf> leaf = readLeaf(type.getValue(), fail);
    if (failed(leaf))
      return failure();
    pattern.leaf = std::move(*leaf);
    return pattern;
  }
  if (auto items = dyn_cast<ArrayAttr>(attribute)) {
    if (failed(readItems(items, pattern, fail)))
      return failure();
    return pattern;
  }
  auto entries = dyn_cast<DictionaryAttr>(attribute);
  Attribute object = entries ? entries.get("static") : Attribute();
  if (object && entries.size() == 1) {
    if (failed(verifyObject(object, fail)))
      return failure();
    pattern.leaf.emplace().object = object;
    return pattern;
  }
  if (!entries || !entries.get("node"))
    return fail(toText(attribute) + " describes no type"), failure();
  if (Attribute items = entries.get("items")) {
    if (!isa<ArrayAttr>(items))
      return fail(toText(items) + " is no array"), failure();
    if (failed(readItems(cast<ArrayAttr>(items), pattern, fail)))
      return failure();
  }
  if (failed(readHeader(entries, pattern, fail)))
    return failure();
  return pattern;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

SmallVector<const Leaf *> Pattern::getLeaves() const {
  if (leaf)
    return {&*leaf};
  SmallVector<const Leaf *> leaves;
  for (const Pattern &item : items)
    llvm::append_range(leaves, item.getLeaves());
  return leaves;
}

SmallVector<const Leaf *> Pattern::getArrays() const {
  SmallVector<const Leaf *> arrays = getLeaves();
  llvm::erase_if(arrays, [](const Leaf *leaf) { return !leaf->isArray(); });
  return arrays;
}

bool Pattern::hasSameTree(const Pattern &other) const {
  if (leaf || other.leaf)
    return leaf && other.leaf;
  return header == other.header && items.size() == other.items.size() &&
         llvm::all_of_zip(items, other.items,
                          [](const Pattern &left, const Pattern &right) { return left.hasSameTree(right); });
}

static std::string leafText(const Leaf &leaf) {
  if (leaf.object)
    return "static " + objectText(leaf.object);
  std::string element =
      leaf.generator.empty() ? getElementName(leaf.stored.getElementType()) : "key<" + leaf.generator + ">";
  return arrayText(element, leaf.shape) + (leaf.weak ? "*" : "");
}

/// What stands around the items of a container, and what before each.
static std::string itemsText(const Pattern &pattern, StringRef open, ArrayAttr names, StringRef sign, StringRef close) {
  std::string text = open.str();
  llvm::raw_string_ostream os(text);
  for (auto [index, item] : llvm::enumerate(pattern.items)) {
    os << (index ? ", " : "");
    if (auto name = names ? dyn_cast<StringAttr>(names[index]) : StringAttr())
      os << name.getValue() << sign;
    else if (names)
      os << objectText(names[index]) << sign;
    os << item.str();
  }
  os << close;
  return text;
}

std::string Pattern::str() const {
  if (leaf)
    return leafText(*leaf);
  if (header.empty())
    return itemsText(*this, "(", {}, "", items.size() == 1 ? ",)" : ")");
  StringRef kind = cast<StringAttr>(header.front()).getValue();
  if (kind == "none")
    return "None";
  if (kind == "list")
    return itemsText(*this, "[", {}, "", "]");
  auto names = dyn_cast<ArrayAttr>(header.back());
  if (kind == "dict")
    return itemsText(*this, "{", names, ": ", "}");
  std::string open = (getShortName(kind) + "(").str();
  return itemsText(*this, open, isNamedTuple ? names : ArrayAttr(), "=", ")");
}

} // namespace hlobatch::autobatch
