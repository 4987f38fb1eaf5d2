// What one call of reduceCopy is told: which numbers, which operation, and where operands lie in which form.
// Plain structs without behaviour, the same on the host and on a device.
#pragma once

#include <cstdint>

#include "base/number_types.h"

namespace tutti {

// How elements are combined. A premultiplier (applied raw -> partial) will be one more member here and one
// more line in widenElement (kernels/reduce_element.h).
struct Reduction {
  DataType type;
  Operation operation;
  std::uint32_t nranks = 1;  // what avg divides by, at least 1; the other operations do not look at it
};

// `data` needs no alignment. It holds `count` elements of bytesOf(type, operation, form) bytes.
struct Source {
  const void* data;
  Form form;
};

// A destination may be exactly a source (the same pointer, an element of the same size), and otherwise
// overlaps nothing. `streaming` asks for stores that go past the caches, for data that is not read again
// soon; it changes no bit and may be ignored.
struct Destination {
  void* data;
  Form form;
  bool streaming = false;
};

}  // namespace tutti
