//===- Passes.h - Passes of the native tools ---------------------*- C++ -*-===//

#ifndef HLOBATCH_DIALECT_NATIVE_PASSES_H
#define HLOBATCH_DIALECT_NATIVE_PASSES_H

namespace hlobatch::autobatch {

/// Makes the passes known by their flags.
void registerPasses();

} // namespace hlobatch::autobatch

#endif // HLOBATCH_DIALECT_NATIVE_PASSES_H
