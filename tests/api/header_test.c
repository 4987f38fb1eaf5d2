/* The public header as a C compiler and as a C++ compiler see it: this file is compiled as both
 * (header_test.cc includes it), with nothing included before the header. It holds the values and sizes that
 * are part of the ABI; what the functions do is tested elsewhere. */
#include <tutti/tutti.h>

#ifdef __cplusplus
#define HEADER_TEST_ASSERT(condition) static_assert(condition, #condition)
#define HEADER_TEST_MAIN headerTestFromCxx
#else
#define HEADER_TEST_ASSERT(condition) _Static_assert(condition, #condition)
#define HEADER_TEST_MAIN headerTestFromC
#endif

/* Results 0..7, types and operations 0..4 are NCCL's. */
HEADER_TEST_ASSERT(tuttiSuccess == 0 && tuttiUnhandledDeviceError == 1 && tuttiSystemError == 2);
HEADER_TEST_ASSERT(tuttiInternalError == 3 && tuttiInvalidArgument == 4 && tuttiInvalidUsage == 5);
HEADER_TEST_ASSERT(tuttiRemoteError == 6 && tuttiInProgress == 7);
HEADER_TEST_ASSERT(tuttiTimeout == 0x100 && tuttiMismatch == 0x101 && tuttiBroken == 0x102);
HEADER_TEST_ASSERT(tuttiNotSupported == 0x103);
HEADER_TEST_ASSERT(tuttiInt8 == 0 && tuttiUint8 == 1 && tuttiInt32 == 2 && tuttiUint32 == 3);
HEADER_TEST_ASSERT(tuttiInt64 == 4 && tuttiUint64 == 5 && tuttiFloat16 == 6 && tuttiFloat32 == 7);
HEADER_TEST_ASSERT(tuttiFloat64 == 8 && tuttiBfloat16 == 9 && tuttiFloat8e4m3 == 10 && tuttiFloat8e5m2 == 11);
HEADER_TEST_ASSERT(tuttiSum == 0 && tuttiProd == 1 && tuttiMax == 2 && tuttiMin == 3 && tuttiAvg == 4);
HEADER_TEST_ASSERT(tuttiBitAnd == 0x100 && tuttiBitOr == 0x101 && tuttiBitXor == 0x102);
HEADER_TEST_ASSERT(tuttiScalarDevice == 0 && tuttiScalarHostImmediate == 1);
HEADER_TEST_ASSERT(TUTTI_DEVICE_HOST == -1 && TUTTI_SPLIT_NOCOLOR == -1);
HEADER_TEST_ASSERT(TUTTI_SHRINK_DEFAULT == 0 && TUTTI_SHRINK_ABORT == 1);
HEADER_TEST_ASSERT(TUTTI_VERSION_CODE == TUTTI_MAJOR * 10000 + TUTTI_MINOR * 100 + TUTTI_PATCH);

/* Whatever the compiler's enum options are, these are 4 bytes, and handles are one word. */
HEADER_TEST_ASSERT(sizeof(tuttiResult_t) == 4 && sizeof(tuttiDataType_t) == 4 && sizeof(tuttiRedOp_t) == 4);
HEADER_TEST_ASSERT(sizeof(tuttiLogLevel_t) == 4 && sizeof(tuttiWire_t) == 4 &&
                   sizeof(tuttiScalarResidence_t) == 4);
HEADER_TEST_ASSERT(sizeof(tuttiComm_t) == sizeof(void*) && sizeof(tuttiStream_t) == sizeof(void*));
HEADER_TEST_ASSERT(sizeof(tuttiUniqueId) == 128);

/* Structs grow at their end only: a field that moves breaks programs that are already built. */
HEADER_TEST_ASSERT(offsetof(tuttiConfig_t, magic) == 8 && offsetof(tuttiConfig_t, version) == 12);
HEADER_TEST_ASSERT(offsetof(tuttiConfig_t, blocking) == 16 && offsetof(tuttiConfig_t, device) == 20);
HEADER_TEST_ASSERT(offsetof(tuttiConfig_t, timeoutMs) == 24 && offsetof(tuttiConfig_t, initTimeoutMs) == 32);
HEADER_TEST_ASSERT(offsetof(tuttiConfig_t, logLevel) == 40 && offsetof(tuttiConfig_t, reproducible) == 44);
HEADER_TEST_ASSERT(offsetof(tuttiConfig_t, wire) == 48 && offsetof(tuttiConfig_t, logCallback) == 56);
HEADER_TEST_ASSERT(offsetof(tuttiConfig_t, logContext) == 64 &&
                   offsetof(tuttiConfig_t, memoryBudgetBytes) == 72);
HEADER_TEST_ASSERT(offsetof(tuttiConfig_t, algorithm) == 80 && offsetof(tuttiConfig_t, interfaceName) == 88);
HEADER_TEST_ASSERT(offsetof(tuttiConfig_t, name) == 96 && sizeof(tuttiConfig_t) == 104);
HEADER_TEST_ASSERT(offsetof(tuttiPlan_t, collective) == 16 && offsetof(tuttiPlan_t, algorithm) == 40);
HEADER_TEST_ASSERT(offsetof(tuttiPlan_t, protocol) == 72 && offsetof(tuttiPlan_t, reason) == 88);
HEADER_TEST_ASSERT(offsetof(tuttiPlan_t, channels) == 248 && offsetof(tuttiPlan_t, rounds) == 252);
HEADER_TEST_ASSERT(offsetof(tuttiPlan_t, steps) == 256 && offsetof(tuttiPlan_t, messages) == 264);
HEADER_TEST_ASSERT(offsetof(tuttiPlan_t, inProcessBytes) == 272 && offsetof(tuttiPlan_t, windowBytes) == 296);
HEADER_TEST_ASSERT(sizeof(tuttiPlan_t) == 304);
HEADER_TEST_ASSERT(offsetof(tuttiMemStats_t, totalBytes) == 16 && sizeof(tuttiMemStats_t) == 72);

/* The ..._INIT macros set size, magic and version, and leave every setting unset. Returns the number of
 * mistakes. */
int HEADER_TEST_MAIN(void);
int HEADER_TEST_MAIN(void) {
  tuttiConfig_t config = TUTTI_CONFIG_INIT;
  tuttiPlan_t plan = TUTTI_PLAN_INIT;
  tuttiMemStats_t stats = TUTTI_MEM_STATS_INIT;
  int mistakes = 0;
  mistakes += config.size != sizeof(config) || config.magic != TUTTI_CONFIG_MAGIC;
  mistakes += config.version != TUTTI_VERSION_CODE;
  mistakes += config.blocking != TUTTI_UNSET || config.device != TUTTI_UNSET;
  mistakes += config.timeoutMs != TUTTI_UNSET_MS || config.initTimeoutMs != TUTTI_UNSET_MS;
  mistakes +=
      config.logLevel != TUTTI_UNSET || config.reproducible != TUTTI_UNSET || config.wire != TUTTI_UNSET;
  mistakes += config.logCallback != NULL || config.logContext != NULL;
  mistakes += config.memoryBudgetBytes != TUTTI_UNSET_BYTES;
  mistakes += config.algorithm != NULL || config.interfaceName != NULL || config.name != NULL;
  mistakes +=
      plan.size != sizeof(plan) || plan.magic != TUTTI_PLAN_MAGIC || plan.version != TUTTI_VERSION_CODE;
  mistakes += plan.algorithm[0] != 0 || plan.steps != 0 || plan.windowBytes != 0;
  mistakes += stats.size != sizeof(stats) || stats.magic != TUTTI_MEM_STATS_MAGIC || stats.links != 0;
  return mistakes;
}
