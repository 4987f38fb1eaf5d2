// The kernels of virtual_ranks.h for one element type, TUTTI_TYPE, which the build names: one for each operation.
#include "kernels/cuda/context.cuh"
#include "kernels/cuda/kernels_of_type.h"
#include "kernels/cuda/virtual_lane-inl.h"

namespace tutti::cuda {
namespace {

template <DataType type, Operation operation>
__global__ void __launch_bounds__(kMostBlockThreads, 1) virtualRanks(const VirtualRanks ranks) {
  extern __shared__ __align__(128) std::byte workspace[];
  static_assert(alignof(MailboxEnd) <= 128);
  const unsigned index = blockIdx.y * gridDim.x + blockIdx.x;
  const VirtualLane& lane = ranks.lanes[index];
  if (lane.program.nsteps == 0) return;
  BlockContext<type, operation> context(ranks.patienceNs);
  runVirtualLane(context, lane, ranks.calls[blockIdx.y], ranks.repeats, workspace, &ranks.outcomes[index]);
}

}  // namespace

template <DataType type>
const void* virtualRanksKernel(Operation operation) {
  switch (operation) {
    case Operation::sum:
      return reinterpret_cast<const void*>(virtualRanks<type, Operation::sum>);
    case Operation::prod:
      return reinterpret_cast<const void*>(virtualRanks<type, Operation::prod>);
    case Operation::max:
      return reinterpret_cast<const void*>(virtualRanks<type, Operation::max>);
    case Operation::min:
      return reinterpret_cast<const void*>(virtualRanks<type, Operation::min>);
    case Operation::avg:
      return reinterpret_cast<const void*>(virtualRanks<type, Operation::avg>);
  }
  return nullptr;
}

template const void* virtualRanksKernel<DataType::TUTTI_TYPE>(Operation);

}  // namespace tutti::cuda
