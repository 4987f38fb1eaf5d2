// The SIMD versions of reduceCopy for f32 and f64, which are added in their own type.
#include "kernels/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce_wide_floats.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/reduce_copy-inl.h"
#include "kernels/reduce_copy_versions.h"

#if !TUTTI_TARGET_IS_EMPTY
HWY_BEFORE_NAMESPACE();
namespace tutti {
namespace HWY_NAMESPACE {

ReduceCopyFunction chooseWideFloats(DataType type, Operation operation) {
  return type == DataType::f32 ? chooseFloatKernel<PlainElements<float>>(operation)
                               : chooseFloatKernel<PlainElements<double>>(operation);
}

}  // namespace HWY_NAMESPACE
}  // namespace tutti
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace tutti {
ReduceCopyFunction reduceCopyWideFloats(std::int64_t target, DataType type, Operation operation) {
  TUTTI_CALL_TARGET(target, chooseWideFloats, type, operation);
  return nullptr;
}
}  // namespace tutti
#endif
