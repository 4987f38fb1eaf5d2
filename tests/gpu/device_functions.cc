// See device_functions.h.
#include "tests/gpu/device_functions.h"

#include <array>
#include <utility>

namespace tutti::cuda {
namespace {

using Table = std::array<std::array<DeviceReduceCopy, kOperations>, kDataTypes>;

// `of` gives the function of a type and an operation that are known when it is compiled.
template <class Of, std::size_t... type>
constexpr Table tableOf(const Of& of, std::index_sequence<type...>) {
  constexpr auto row = []<DataType t>(const Of& function) -> std::array<DeviceReduceCopy, kOperations> {
    return {
        function.template operator()<t, Operation::sum>(), function.template operator()<t, Operation::prod>(),
        function.template operator()<t, Operation::max>(), function.template operator()<t, Operation::min>(),
        function.template operator()<t, Operation::avg>()};
  };
  return {row.template operator()<static_cast<DataType>(type)>(of)...};
}

constexpr auto kTypes = std::make_index_sequence<kDataTypes>();
constexpr Table kReduceCopy = tableOf(
    []<DataType type, Operation operation>() -> DeviceReduceCopy { return reduceCopy<type, operation>; },
    kTypes);
constexpr Table kReduceCopyStaged = tableOf(
    []<DataType type, Operation operation>() -> DeviceReduceCopy {
      return reduceCopyStaged<type, operation>;
    },
    kTypes);

}  // namespace

DeviceReduceCopy deviceReduceCopyOf(DataType type, Operation operation) {
  return kReduceCopy[static_cast<std::size_t>(type)][static_cast<std::size_t>(operation)];
}

DeviceReduceCopy deviceReduceCopyStagedOf(DataType type, Operation operation) {
  return kReduceCopyStaged[static_cast<std::size_t>(type)][static_cast<std::size_t>(operation)];
}

}  // namespace tutti::cuda
