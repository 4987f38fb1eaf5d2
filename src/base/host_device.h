// One macro that lets a small function be compiled for the host and, by nvcc, for the device as well. What is
// marked must be plain: no standard library calls, no exceptions, no allocation.
#pragma once

#ifdef __CUDACC__
#define TUTTI_HOST_DEVICE __host__ __device__ inline
#else
#define TUTTI_HOST_DEVICE inline
#endif

namespace tutti {

// std::bit_cast, without needing --expt-relaxed-constexpr on the device.
template <class To, class From>
TUTTI_HOST_DEVICE constexpr To bitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

}  // namespace tutti
