// See thread.h: the data phase of an emulated thread. It is a file of its own because the reference for all
// types is slow to compile and no mutant changes it.
#include "thread.h"

#include "kernels/reduce_element.h"

namespace tutti::emulation {

void Thread::copyElements(const Reduction& reduction, const Source* sources, int nsources,
                          const Destination* destinations, int ndestinations, std::uint64_t begin,
                          std::uint64_t end, std::uint64_t stride) {
  for (std::uint64_t i = begin; i < end; i += stride) {
    reduceCopyReference(reduction, sources, nsources, destinations, ndestinations, i, i + 1, 1);
    progress();
    point();
  }
}

}  // namespace tutti::emulation
