// What the bandwidth stage adds up: large operands whose every element the host knows without having them all.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/cuda/reduce_copy.h"
#include "tests/gpu/device.h"
#include "tests/gpu/report.h"

namespace tutti::cuda {

struct Sum {
  DataType type;  // f32 or bf16
  int nsources;
};

// Operands of one size. Every source repeats one pattern, each from another place in it.
class BandwidthOperands {
 public:
  // `report`, which is told what fails, has to outlive them.
  BandwidthOperands(Report& report, std::size_t bytes, int nsources);

  // False if there was no memory for them or they could not be filled.
  bool areWhole() const { return isWhole_; }
  std::size_t bytes() const { return bytes_; }  // of each

  ReduceCopyCall callOf(const Sum& sum) const;

  // Queues the device's own copy of one operand.
  cudaError_t copy() const;

  // Queues what leaves no sum in the destination: a NaN of any float.
  cudaError_t poison() const;

  // Whether the destination has the host's bits, in samples from both ends and between. The sum must be done. The report
  // is told of what is not so, with `what` before it.
  bool areRight(const Sum& sum, const std::string& what) const;

 private:
  std::size_t offsetOf(int k) const;
  std::vector<std::byte> sampleOf(int k, std::size_t begin) const;
  bool fill(int k);

  Report& report_;
  const std::size_t bytes_;
  std::vector<std::byte> pattern_;
  std::vector<DeviceBuffer> sources_;
  DeviceBuffer destination_;
  bool isWhole_ = true;
};

}  // namespace tutti::cuda
