// The functions of tutti.h that are declared, with their final shape, but not built yet. Each answers
// tuttiNotSupported and names itself; the header marks them, the README lists them, and a test keeps the
// three equal.
#include "api/boundary.h"
#include "api/group.h"

namespace {

tuttiResult_t notBuiltQuestion(const char* function) {
  return tutti::fail(function, tutti::Code::notSupported,
                     "this function is not built yet: the README lists what works");
}

tuttiResult_t notBuilt(const char* function) {
  return tutti::countedInGroup(notBuiltQuestion(function));
}

}  // namespace

tuttiResult_t tuttiCommSplit(tuttiComm_t, int, int, tuttiComm_t*, const tuttiConfig_t*) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiCommDuplicate(tuttiComm_t, tuttiComm_t*, const tuttiConfig_t*) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiCommSplitHost(tuttiComm_t, tuttiComm_t*, const tuttiConfig_t*) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiCommShrink(tuttiComm_t, const int*, int, tuttiComm_t*, const tuttiConfig_t*, int) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiCommGetFailed(tuttiComm_t, int*, int*) {
  return notBuiltQuestion(__func__);
}
tuttiResult_t tuttiCommMemStats(tuttiComm_t, tuttiMemStats_t*) {
  return notBuiltQuestion(__func__);
}
tuttiResult_t tuttiCommSetTimeout(tuttiComm_t, int64_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiCommRevoke(tuttiComm_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiAllToAll(const void*, void*, size_t, tuttiDataType_t, tuttiComm_t, tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiAllToAllV(const void*, const size_t*, const size_t*, void*, const size_t*, const size_t*,
                             tuttiDataType_t, tuttiComm_t, tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiGather(const void*, void*, size_t, tuttiDataType_t, int, tuttiComm_t, tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiGatherV(const void*, size_t, void*, const size_t*, const size_t*, tuttiDataType_t, int,
                           tuttiComm_t, tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiScatter(const void*, void*, size_t, tuttiDataType_t, int, tuttiComm_t, tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiScatterV(const void*, const size_t*, const size_t*, void*, size_t, tuttiDataType_t, int,
                            tuttiComm_t, tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiAllGatherV(const void*, size_t, void*, const size_t*, const size_t*, tuttiDataType_t,
                              tuttiComm_t, tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiReduceScatterV(const void*, const size_t*, void*, const size_t*, tuttiDataType_t,
                                  tuttiRedOp_t, tuttiComm_t, tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiSend(const void*, size_t, tuttiDataType_t, int, tuttiComm_t, tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiRecv(void*, size_t, tuttiDataType_t, int, tuttiComm_t, tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiRecvAny(void*, size_t, tuttiDataType_t, int*, tuttiComm_t, tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiStreamCreate(tuttiStream_t*) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiStreamDestroy(tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiStreamSynchronize(tuttiStream_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiStreamQuery(tuttiStream_t) {
  return notBuiltQuestion(__func__);
}
tuttiResult_t tuttiStreamAddCallback(tuttiStream_t, tuttiStreamCallback_t, void*) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiRedOpCreatePreMulSum(tuttiRedOp_t*, const void*, tuttiDataType_t, tuttiScalarResidence_t,
                                        tuttiComm_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiRedOpCreateUser(tuttiRedOp_t*, tuttiUserFunction_t, void*, int, tuttiComm_t) {
  return notBuilt(__func__);
}
tuttiResult_t tuttiRedOpDestroy(tuttiRedOp_t, tuttiComm_t) {
  return notBuilt(__func__);
}
