// Which Highway targets the kernels are compiled for: few, because each costs compile time. Included before
// any header of Highway, by every file that compiles kernels and by the one that chooses among them.
//
// A processor below these (x86-64 without SSE4) runs the scalar reference; so Highway's scalar and SSE2
// baselines, which cannot be switched off, are compiled empty (TUTTI_TARGET_IS_EMPTY).
#pragma once

// SSE2 (bit 14) and NEON without AES (bit 29) have names only in Highway after 1.0.3.
#define TUTTI_BASELINES (HWY_SCALAR | HWY_EMU128 | (1LL << 14) | (1LL << 29))

#ifdef TUTTI_FEW_TARGETS  // sanitizer builds, which compile slowly
#define TUTTI_SIMD_TARGETS (HWY_AVX2 | HWY_NEON)
#else
#define TUTTI_SIMD_TARGETS (HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_NEON)
#endif

#define HWY_DISABLED_TARGETS (~(TUTTI_BASELINES | TUTTI_SIMD_TARGETS))

#define TUTTI_TARGET_IS_EMPTY ((HWY_TARGET & (HWY_SCALAR | HWY_EMU128 | (1LL << 14))) != 0)

// In the HWY_ONCE part of a file: returns `function` of the namespace compiled for `target`, where there is
// one.
#if defined(__x86_64__) && !defined(TUTTI_FEW_TARGETS)
#define TUTTI_CALL_TARGET(target, function, ...)                \
  if (target == HWY_AVX3) return N_AVX3::function(__VA_ARGS__); \
  if (target == HWY_AVX2) return N_AVX2::function(__VA_ARGS__); \
  if (target == HWY_SSE4) return N_SSE4::function(__VA_ARGS__)
#elif defined(__x86_64__)
#define TUTTI_CALL_TARGET(target, function, ...) \
  if (target == HWY_AVX2) return N_AVX2::function(__VA_ARGS__)
#elif defined(__aarch64__)
#define TUTTI_CALL_TARGET(target, function, ...) \
  if (target == HWY_NEON) return N_NEON::function(__VA_ARGS__)
#else
#define TUTTI_CALL_TARGET(target, function, ...)
#endif
