//===- PythonObject.cpp - Python objects written as attributes --------------===//

#include "PythonObject.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace hlobatch::autobatch {

std::string toText(Attribute attribute) {
  std::string text = "None";
  if (attribute) {
    text.clear();
    llvm::raw_string_ostream(text) << attribute;
  }
  return text;
}

StringRef getShortName(StringRef name) {
  name = name.substr(name.rfind(':') + 1); // npos + 1 is 0
  return name.substr(name.rfind('.') + 1);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyItems(Attribute attribute, Fail fail) {
  auto items = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!items)
    return fail(toText(attribute) + " is no array"), failure();
  return success(llvm::all_of(items, [&](Attribute item) { return succeeded(verifyObject(item, fail)); }));
}

static bool isNumber(Attribute attribute) { return isa<IntegerAttr, FloatAttr>(attribute); }

static bool isDecimal(StringRef text) {
  text = text.trim();
  if (!text.consume_front("-"))
    text.consume_front("+");
  return !text.empty() && llvm::all_of(text, llvm::isDigit);
}

static bool isHex(StringRef text) { return text.size() % 2 == 0 && llvm::all_of(text, llvm::isHexDigit); }

/// What a tagged entry has to be, apart from `dict` and `list`, which hold objects.
static bool isPlain(StringRef tag, Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  auto items = dyn_cast<ArrayAttr>(value);
  if (tag == "none")
    return true;
  if (tag == "complex")
    return items && items.size() <= 2 && llvm::all_of(items, isNumber);
  if (tag == "bytes")
    return text && isHex(text.getValue());
  if (tag == "int")
    return text && isDecimal(text.getValue());
  return text && (tag == "dtype" || tag == "object");
}

static LogicalResult verifyTagged(NamedAttribute entry, Attribute whole, Fail fail) {
  StringRef tag = entry.getName().strref();
  if (tag == "list")
    return verifyItems(entry.getValue(), fail);
  if (tag == "dict") {
    if (failed(verifyItems(entry.getValue(), fail)))
      return failure();
    bool arePairs = llvm::all_of(cast<ArrayAttr>(entry.getValue()), [](Attribute item) {
      auto pair = dyn_cast<ArrayAttr>(item);
      return pair && pair.size() == 2;
    });
    if (arePairs)
      return success();
  } else if (isPlain(tag, entry.getValue())) {
    return success();
  }
  return fail(toText(whole) + " describes no Python object"), failure();
}

LogicalResult verifyObject(Attribute attribute, Fail fail) {
  if (isa_and_nonnull<BoolAttr, FloatAttr, StringAttr>(attribute))
    return success();
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attribute)) {
    if (integer.getType().isSignlessInteger(64))
      return success();
    return fail(toText(attribute) + " is no i64"), failure();
  }
  if (isa_and_nonnull<ArrayAttr>(attribute))
    return verifyItems(attribute, fail);
  auto entries = dyn_cast_or_null<DictionaryAttr>(attribute);
  if (entries && entries.size() == 1)
    return verifyTagged(*entries.begin(), attribute, fail);
  return fail(toText(attribute) + " describes no Python object"), failure();
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string listText(Attribute items, StringRef open, StringRef close) {
  std::string text = open.str();
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(cast<ArrayAttr>(items), os, [&](Attribute item) { os << objectText(item); });
  os << close;
  return text;
}

std::string objectText(Attribute attribute) {
  if (auto boolean = dyn_cast<BoolAttr>(attribute))
    return boolean.getValue() ? "True" : "False";
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return std::to_string(integer.getInt());
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return llvm::formatv("{0}", number.getValueAsDouble()).str();
  if (auto text = dyn_cast<StringAttr>(attribute))
    return "'" + text.getValue().str() + "'";
  if (auto items = dyn_cast<ArrayAttr>(attribute))
    return listText(items, "(", items.size() == 1 ? ",)" : ")");
  NamedAttribute entry = *cast<DictionaryAttr>(attribute).begin();
  StringRef tag = entry.getName().strref();
  if (tag == "none")
    return "None";
  if (tag == "list")
    return listText(entry.getValue(), "[", "]");
  if (tag == "object")
    return getShortName(cast<StringAttr>(entry.getValue()).getValue()).str();
  if (auto text = dyn_cast<StringAttr>(entry.getValue()))
    return text.getValue().str();
  return toText(entry.getValue());
}

} // namespace hlobatch::autobatch
