/*
 * tutti: collective communication between ranks that hold their data in host memory; on NVIDIA GPUs later.
 *
 * This header is the manual of the C interface. It is C11 and C++, needs no CUDA header, and its values for
 * results, types and operations equal NCCL's. Read "Rules that hold for every function" first: what stands
 * there is not repeated at each function.
 *
 * A first program, four ranks as threads of one process (error checks left out):
 *
 *     tuttiComm_t comms[4];
 *     tuttiCommInitAll(comms, 4, NULL);                       // NULL: all ranks on the host
 *     ... in thread r, for each r of 0..3:
 *         tuttiAllReduce(send, recv, count, tuttiFloat32, tuttiSum, comms[r], NULL);
 *         tuttiCommDestroy(comms[r]);
 *
 * Rules that hold for every function
 *
 * Result. Every function answers a tuttiResult_t, except the two that return a text. No function throws,
 * prints to standard output, exits or aborts the process. Outputs are written only when the answer is
 * tuttiSuccess, unless the function says otherwise.
 *
 * Refusals. Arguments are checked first. tuttiInvalidArgument, tuttiInvalidUsage and tuttiNotSupported say
 * that the call was not begun: no memory was written, no peer was told, a corrected call joins the peers
 * that wait. tuttiCommInitRank and its kin, and tuttiCommRegister, say where they differ.
 *
 * Failures. A collective that ends with any other error has broken its communicator, on all ranks and with
 * the same first cause. A rank that was not in that call gets the same error from its next one; every later
 * call answers tuttiBroken, and tuttiGetLastError has the cause. Send buffers are unchanged (unless the call
 * was in place); receive buffers are undefined. What is left to do is tuttiCommAbort or tuttiCommDestroy
 * (later also tuttiCommShrink).
 *
 * Nothing hangs. A call that cannot complete ends with an error by its deadline (timeoutMs in
 * tuttiConfig_t).
 *
 * Units. count is in elements of the call's type, bytes in bytes, ...Ms in milliseconds. n stands for the
 * number of ranks.
 *
 * Counts. Any value whose bytes fit an address range. Zero is legal, and the call is still one that all
 * ranks make. Host buffers need no alignment, not even the element's own; GPU buffers need the element's
 * own.
 *
 * NULL. A buffer may be NULL exactly when this rank reads or writes no element of it: its count is 0, or the
 * function says that the rank does not use it (such as the send buffer of a broadcast, elsewhere than on
 * root).
 *
 * In place. By pointer equality, as in NCCL: send == recv; for reduce-scatter recv == send + rank *
 * recvcount; for all-gather send == recv + rank * sendcount (in elements). Each rank decides for itself. Any
 * other overlap of send and receive buffer is tuttiInvalidArgument.
 *
 * Memory kind. A communicator is of the host or of one GPU (tuttiCommDevice). All buffers of its calls are
 * memory of that kind: any readable and writable host memory, or memory of that GPU.
 *
 * Ownership. A buffer belongs to the library from the call until its completion: do not write send buffers,
 * do not read or write receive buffers. Arrays of counts and text arguments are read during the call only.
 *
 * Streams. The last argument of a data call orders it. NULL on a host communicator: the calling thread does
 * the work, and the call is complete on return. A stream of tuttiStreamCreate: the call is queued, runs in
 * the order of that stream, and is complete after tuttiStreamSynchronize (not built yet: any stream but NULL
 * is tuttiNotSupported today). On a device communicator it is a cudaStream_t (NULL: the default stream), and
 * the call returns when the work is queued.
 *
 * Threads. Different communicators may be used by different threads freely and in any order. On one
 * communicator (one handle) one collective or one group runs at a time; a second one, begun by another
 * thread meanwhile, answers tuttiInvalidUsage. tuttiCommAbort, tuttiCommRevoke and the functions under
 * "Asking a communicator" may be called by any thread at any time, unless they say otherwise. A thread that
 * drives several ranks of one communicator puts their calls into a group. A thread needs 64 KiB of stack, and
 * may be cancelled (pthread_cancel, deferred) in a call: it ends after the call.
 *
 * Same calls. All ranks of a communicator make the same collective calls in the same order, with the same
 * count, type, operation and root. If they do not, every rank gets tuttiMismatch, and the text has each
 * rank's call (the first 16 that differ). Ranks that can complete a call without each other, such as two that
 * each think they are the root of a broadcast, get it from their next call, or from tuttiCommFinalize or
 * tuttiCommDestroy if that was the last one; a rank that has left before its peer made the call is not told.
 *
 * Handles. Opaque words, compared by value, never dereferenced. A handle that was destroyed, was never given
 * out, or belongs to the parent of a fork answers tuttiInvalidArgument; it is never a crash.
 *
 * Numbers. Every rank ends with the same bits, and the same call on the same communicator gives the same
 * bits every time, as long as its buffers stay registered or unregistered: the two ways may add floats in
 * different orders. docs/numerics.md has the rules of rounding, averages, NaN and saturation.
 *
 * Not built yet. A function that is declared but not built says so in a line of its own that begins with
 * these three words, and answers tuttiNotSupported whatever its arguments are. Its shape is final.
 */
#ifndef TUTTI_TUTTI_H
#define TUTTI_TUTTI_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#error "tutti needs Linux"
#elif defined(__GNUC__)
#define TUTTI_API __attribute__((visibility("default")))
#else
#define TUTTI_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ------------------------------------------------------------------------------------------- */

#define TUTTI_MAJOR 0
#define TUTTI_MINOR 1
#define TUTTI_PATCH 0

/* One number per version, ordered like the versions: 0.1.0 is 100, 1.2.3 is 10203. */
#define TUTTI_VERSION(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))

/* The version of this header; tuttiGetVersion tells the library's. */
#define TUTTI_VERSION_CODE TUTTI_VERSION(TUTTI_MAJOR, TUTTI_MINOR, TUTTI_PATCH)

/* ---- Values -------------------------------------------------------------------------------------------- */

/* The types are int, so that their size is fixed and any value may be passed: one that is not listed here
 * is answered with tuttiInvalidArgument. */

/* What a call answers. 0..7 are NCCL's by value. The comment says what to do next. */
typedef int tuttiResult_t;
enum {
  tuttiSuccess = 0,
  tuttiUnhandledDeviceError = 1, /* CUDA refused: see the text; the communicator is broken */
  tuttiSystemError = 2,     /* the operating system refused (memory, files): the text says what to allow */
  tuttiInternalError = 3,   /* a fault of the library: report it */
  tuttiInvalidArgument = 4, /* fix this call; nothing was begun */
  tuttiInvalidUsage = 5,    /* fix the order or the threads of the calls; nothing was begun */
  tuttiRemoteError = 6,  /* another rank died, left or aborted: end, or make a new communicator without it */
  tuttiInProgress = 7,   /* not an error: ask tuttiCommGetAsyncError or tuttiStreamQuery again */
  tuttiTimeout = 0x100,  /* a deadline passed: the text lists who is missing; the communicator is broken */
  tuttiMismatch = 0x101, /* the ranks made different calls: the text lists them; the communicator is broken */
  tuttiBroken = 0x102,   /* the communicator failed or was aborted before: the text has the first cause */
  tuttiNotSupported = 0x103 /* not built, or not possible here: the text says what to do instead */
};

/* Element types. The values are NCCL's. */
typedef int tuttiDataType_t;
enum {
  tuttiInt8 = 0,
  tuttiUint8 = 1,
  tuttiInt32 = 2,
  tuttiUint32 = 3,
  tuttiInt64 = 4,
  tuttiUint64 = 5,
  tuttiFloat16 = 6,     /* IEEE 754 binary16 */
  tuttiFloat32 = 7,     /* IEEE 754 binary32 */
  tuttiFloat64 = 8,     /* IEEE 754 binary64 */
  tuttiBfloat16 = 9,    /* the upper half of binary32 */
  tuttiFloat8e4m3 = 10, /* OCP 8-bit, 4 bits of exponent: no infinity, largest value 448 */
  tuttiFloat8e5m2 = 11  /* OCP 8-bit, 5 bits of exponent: largest finite value 57344 */
};

/* Operations. 0..4 are NCCL's by value; those a program makes (tuttiRedOpCreate...) begin at 0x10000. */
typedef int tuttiRedOp_t;
enum {
  tuttiSum = 0,
  tuttiProd = 1,
  tuttiMax = 2, /* NaN wins; -0 < +0 */
  tuttiMin = 3, /* NaN wins; -0 < +0 */
  tuttiAvg = 4, /* the sum, divided once by the number of ranks; integers truncate toward zero */
  /* Integers only (a floating-point type is tuttiInvalidArgument). Not built yet: they answer
     tuttiNotSupported. */
  tuttiBitAnd = 0x100,
  tuttiBitOr = 0x101,
  tuttiBitXor = 0x102
};

/* How much the library says, on standard error or to the callback of the config: never in a call that moves
 * data. Failures are answers and not messages. */
typedef int tuttiLogLevel_t;
enum {
  tuttiLogNone = 0,
  tuttiLogError = 1,   /* nothing today */
  tuttiLogWarning = 2, /* the default: a slower way is taken, and what to do; each once in a process */
  tuttiLogInfo = 3,    /* what was found, at init */
  tuttiLogDebug = 4    /* nothing more today */
};

/* How partial sums of 16- and 8-bit floats travel between hosts. */
typedef int tuttiWire_t;
enum {
  tuttiWireAuto = 0,   /* binary16 and 8-bit floats wide, bfloat16 narrow */
  tuttiWireNarrow = 1, /* in the type of the call: fewest bytes, one rounding per hop */
  tuttiWireWide = 2    /* as binary32: one rounding in all */
};

/* Where the scalar of tuttiRedOpCreatePreMulSum lies. The values are NCCL's. */
typedef int tuttiScalarResidence_t;
enum {
  tuttiScalarDevice = 0,       /* device-accessible memory, read when the collective runs */
  tuttiScalarHostImmediate = 1 /* host memory, read before tuttiRedOpCreatePreMulSum returns */
};

#define TUTTI_DEVICE_HOST (-1)   /* in place of a CUDA ordinal: host memory */
#define TUTTI_SPLIT_NOCOLOR (-1) /* tuttiCommSplit: this rank joins no new communicator */
#define TUTTI_SHRINK_DEFAULT 0   /* tuttiCommShrink: the parent is idle and stays usable where it was */
#define TUTTI_SHRINK_ABORT 1     /* tuttiCommShrink: end what runs on the parent first */

/* "Not set" in tuttiConfig_t: the environment decides, then the default. */
#define TUTTI_UNSET INT_MIN
#define TUTTI_UNSET_MS INT64_MIN
#define TUTTI_UNSET_BYTES SIZE_MAX

/* ---- Handles and structs ------------------------------------------------------------------------------- */

/* Every struct begins with size, magic and version and is set by its ..._INIT macro; a library that is
 * older or newer than the program reads and writes the fields that both know. One that was not set by its
 * macro is tuttiInvalidArgument. */

/* A communicator: one rank's membership in a group of ranks. NULL is never a communicator. */
typedef struct tuttiComm* tuttiComm_t;

/* An order of calls: NULL, a stream of tuttiStreamCreate, or a cudaStream_t (see "Streams" on top). */
typedef void* tuttiStream_t;

/* Names a communicator that is about to be made; holds the name of a socket and a secret key: hand it to the
 * job's ranks only. */
typedef struct tuttiUniqueId {
  char internal[128];
} tuttiUniqueId;

/*
 * Receives the library's messages. text ends with no newline and is valid during the call. May be called by
 * any thread, also by threads of the library, by several at once, and must not call the library.
 */
typedef void (*tuttiLogCallback_t)(void* context, tuttiLogLevel_t level, const char* text);

/*
 * The caller's own all-gather, used by tuttiCommInitCallback: puts every rank's mine (bytes bytes) into all
 * (n * bytes bytes, in rank order) on every rank. Answers tuttiSuccess, or an error to end the init with it;
 * any other number ends it with tuttiInvalidUsage. Called by the thread that inits, once, with the same
 * bytes on every rank.
 */
typedef tuttiResult_t (*tuttiAllGatherCallback_t)(void* context, const void* mine, void* all, size_t bytes);

/*
 * A reduction of the caller's own: inout[i] = in[i] (op) inout[i] for the n elements i, where in holds the
 * contribution of lower ranks. in and inout do not overlap and need not be aligned. May be called by any
 * thread, by several at once; must not throw, must not call the library and must give the same bits for the
 * same input everywhere.
 */
typedef void (*tuttiUserFunction_t)(const void* in, void* inout, size_t n, tuttiDataType_t type,
                                    void* context);

/* Called once when all calls queued on a stream before it are complete; result is tuttiSuccess or their first
 * error. */
typedef void (*tuttiStreamCallback_t)(void* context, tuttiResult_t result);

/*
 * Settings of a communicator. "Same on all ranks": compared at init, a difference is tuttiInvalidArgument on
 * every rank. "Per rank": each rank has its own. The environment variable named beside a field, when set and
 * not empty, comes before the field, so that who runs a program has the last word; it is read once, when the
 * communicator is made. A value out of range is tuttiInvalidArgument; one that asks for what is not built
 * (today: blocking 0, a device other than TUTTI_DEVICE_HOST, reproducible 1, a memory budget) is
 * tuttiNotSupported; the text names field or variable.
 */
typedef struct tuttiConfig {
  size_t size;
  unsigned int magic;
  unsigned int version;

  /* Per rank. 1: init, finalize and shrink return when done. 0: they return tuttiInProgress, and
   * tuttiCommGetAsyncError tells when they are done. Null-stream calls on the host are complete on return
   * either way. Default 1. */
  int blocking;

  /* Per rank, but all ranks host or all ranks GPU. TUTTI_DEVICE_HOST or a CUDA ordinal. Default: the host.
   * tuttiCommInitAllConfig takes it from its own argument and refuses any other value here. */
  int device;

  /* Same on all ranks; TUTTI_TIMEOUT_MS. Longest time a collective, or any wait in it, may take; at least 1.
   * Default 1,800,000 (30 minutes). */
  int64_t timeoutMs;

  /* Per rank; TUTTI_INIT_TIMEOUT_MS. The same for making a communicator. Default 120,000 (2 minutes). */
  int64_t initTimeoutMs;

  /* Per rank; TUTTI_LOG=none|error|warning|info|debug. A tuttiLogLevel_t. Default tuttiLogWarning. */
  int logLevel;

  /* Same on all ranks; TUTTI_REPRODUCIBLE=0|1. 1: the bits of a result depend on nothing but the inputs and
   * the number of ranks. Default 0. */
  int reproducible;

  /* Same on all ranks; TUTTI_WIRE=auto|narrow|wide. A tuttiWire_t. Without effect inside a host. Default
   * auto. */
  int wire;

  /* Not used; left as the macro sets it. */
  int reserved;

  /* Per rank. NULL: standard error, a line each, such as "tutti: warning: ...". Must stay callable until the
   * communicator is destroyed. */
  tuttiLogCallback_t logCallback;

  /* Per rank. Handed to logCallback; never read by the library. */
  void* logContext;

  /* Per rank; TUTTI_MEMORY_BUDGET (K, M, G allowed). Most bytes of mailboxes and scratch that this
   * communicator may take, as tuttiCommMemStats counts them; 0: no limit. A budget that the least plan does
   * not fit ends init with tuttiInvalidArgument, naming the least that is needed. Default: no limit. */
  size_t memoryBudgetBytes;

  /* Rank 0's counts for all ranks; TUTTI_ALGO. Forces an algorithm: "ring" for every collective, or a list
   * such as "allreduce=ring,broadcast=binomial". An unknown name is tuttiInvalidArgument at init; a call that
   * the forced algorithm cannot serve is tuttiInvalidArgument on every rank. NULL (default): the library
   * chooses. Copied. */
  const char* algorithm;

  /* Per rank; TUTTI_INTERFACE. Network interfaces to use, exact names, separated by commas. NULL (default):
   * those that reach the peers. Not read today, when all ranks share a host. Copied. */
  const char* interfaceName;

  /* Same on all ranks. Appears in messages and errors, at most 63 bytes. NULL (default): a number. Copied. */
  const char* name;
} tuttiConfig_t;

#define TUTTI_CONFIG_MAGIC 0x74757463u /* "tutc" */
#define TUTTI_CONFIG_INIT                                                                                    \
  {                                                                                                          \
    sizeof(tuttiConfig_t), TUTTI_CONFIG_MAGIC, TUTTI_VERSION_CODE, TUTTI_UNSET, TUTTI_UNSET, TUTTI_UNSET_MS, \
        TUTTI_UNSET_MS, TUTTI_UNSET, TUTTI_UNSET, TUTTI_UNSET, 0, NULL, NULL, TUTTI_UNSET_BYTES, NULL, NULL, \
        NULL                                                                                                 \
  }

/* How the last collective of a communicator ran on this rank (tuttiCommLastPlan). Texts end with a NUL. */
typedef struct tuttiPlan {
  size_t size;
  unsigned int magic;
  unsigned int version;
  char collective[24]; /* "allreduce", "broadcast", "reduce", "reducescatter", "allgather", "barrier", ... */
  char algorithm[32]; /* "ring", "oneshot", ...: as tuttiConfig_t's algorithm takes it; "none" for one rank */
  char protocol[16];  /* "lines", "slots" or "window" */
  char reason[160];   /* why these, in words */
  int channels;       /* of the schedule */
  int rounds;         /* passes of the schedule over the data */
  uint64_t steps;     /* steps that this rank fired */
  uint64_t messages;  /* messages that this rank sent, empty ones included */
  /* Payload bytes that this rank sent, or had to send if the call failed, by kind of link. */
  uint64_t inProcessBytes; /* to ranks of this process */
  uint64_t directBytes;    /* to processes of this host, or of this GPU node */
  uint64_t relayedBytes;   /* through the network */
  uint64_t windowBytes;    /* read from or written to peers' registered memory directly */
} tuttiPlan_t;

#define TUTTI_PLAN_MAGIC 0x74757470u /* "tutp" */
#define TUTTI_PLAN_INIT \
  { sizeof(tuttiPlan_t), TUTTI_PLAN_MAGIC, TUTTI_VERSION_CODE, {0}, {0}, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0 }

/* What a communicator holds on this rank (tuttiCommMemStats), in bytes. */
typedef struct tuttiMemStats {
  size_t size;
  unsigned int magic;
  unsigned int version;
  uint64_t totalBytes;      /* mailboxes + scratch + bookkeeping: what memoryBudgetBytes bounds */
  uint64_t mailboxBytes;    /* slots and lines of this rank's ends of links */
  uint64_t scratchBytes;    /* for schedules that keep partial results */
  uint64_t peakBytes;       /* the largest totalBytes so far */
  uint64_t budgetBytes;     /* UINT64_MAX: no limit */
  uint64_t registeredBytes; /* the caller's memory under tuttiCommRegister; not part of totalBytes */
  uint64_t links;           /* links in use */
} tuttiMemStats_t;

#define TUTTI_MEM_STATS_MAGIC 0x7475746du /* "tutm" */
#define TUTTI_MEM_STATS_INIT \
  { sizeof(tuttiMemStats_t), TUTTI_MEM_STATS_MAGIC, TUTTI_VERSION_CODE, 0, 0, 0, 0, 0, 0, 0 }

/* ---- Version and errors -------------------------------------------------------------------------------- */

/* Writes the library's version, as TUTTI_VERSION makes it. Any thread, any time. */
TUTTI_API tuttiResult_t tuttiGetVersion(int* version);

/* A short constant text for a result, such as "invalid argument"; for a number that is none, "unknown
 * result". Never NULL, never freed. */
TUTTI_API const char* tuttiGetErrorString(tuttiResult_t result);

/*
 * Why a call failed, in words: the call, communicator, rank, peer, cause and what to do about it.
 *
 * comm NULL: the last failing call of the calling thread. comm given: the first cause by which that
 * communicator broke, whatever thread met it; if it is not broken, or is no communicator, as for NULL.
 * Successful calls change nothing. Never NULL; empty when there was no failure. The text belongs to the
 * library and is valid until the calling thread's next failing call or next tuttiGetLastError. Any thread,
 * any time.
 */
TUTTI_API const char* tuttiGetLastError(tuttiComm_t comm);

/* ---- Making communicators ------------------------------------------------------------------------------ */

/*
 * Makes an id for one new communicator, to be carried to its other ranks by the caller's own means. The
 * calling process listens at the socket that it names until the ranks have met, so it must stay alive until
 * then, and it need not be a rank. Until then the id takes a thread and 5 descriptors, and one more for each rank
 * that has come; for an id that no rank ever uses as long as the process lives: a process has at most 1024 of them,
 * and a tenth of its limit on open files. tuttiSystemError beyond that, and without descriptors, random bytes or a
 * thread for it.
 */
TUTTI_API tuttiResult_t tuttiGetUniqueId(tuttiUniqueId* uniqueId);

/*
 * Joins a new communicator of nranks (1 to 1024) ranks as rank (0 <= rank < nranks), with defaults. Collective:
 * all nranks ranks call it with the same id, each from a thread or process of its own or, for several ranks
 * of one thread, inside a group; then the handles are written by tuttiGroupEnd, all or none, before the
 * group's calls begin. All processes are on one host: they share a kernel and a network namespace (today). On
 * success *comm belongs to the caller, until tuttiCommDestroy or tuttiCommAbort. What keeps one rank from it is
 * told to all: they fail, and need a new id. tuttiTimeout when ranks are missing at initTimeoutMs (listed),
 * tuttiInvalidArgument for a rank out of range, a rank taken twice, another nranks than the others', or
 * settings that differ where they must not; tuttiRemoteError when a rank or the process that made the id ends
 * meanwhile.
 */
TUTTI_API tuttiResult_t tuttiCommInitRank(tuttiComm_t* comm, int nranks, tuttiUniqueId id, int rank);

/*
 * tuttiCommInitRank with settings; config NULL: the defaults.
 */
TUTTI_API tuttiResult_t tuttiCommInitRankConfig(tuttiComm_t* comm, int nranks, tuttiUniqueId id, int rank,
                                                const tuttiConfig_t* config);

/*
 * Joins a new communicator by the caller's own all-gather in place of an id: for programs that have MPI, a
 * store or a launcher. allGather is called during the init only. Not inside a group: tuttiInvalidUsage.
 * Otherwise as tuttiCommInitRankConfig.
 */
TUTTI_API tuttiResult_t tuttiCommInitCallback(tuttiComm_t* comm, int nranks, int rank,
                                              tuttiAllGatherCallback_t allGather, void* context,
                                              const tuttiConfig_t* config);

/*
 * Makes all ranks of a communicator in this process at once, with default settings: comms[r] becomes rank r.
 *
 * comms: room for nranks handles, which then belong to the caller, one by one (all or none are made).
 * devices: NULL for all ranks on the host, else nranks entries, each TUTTI_DEVICE_HOST or a CUDA ordinal, not
 * mixed; several ranks may share a GPU. nranks is 1 to 65536, which is also the number of communicators that
 * a process may hold. Called by one thread, outside groups; waits for nobody.
 * Afterwards each rank is driven by a thread of its own, or several by one thread in a group: a lone thread
 * that calls for rank 0 without a group waits for the others until the deadline. tuttiSystemError without
 * memory for it; tuttiNotSupported for GPU ordinals (today).
 */
TUTTI_API tuttiResult_t tuttiCommInitAll(tuttiComm_t* comms, int nranks, const int* devices);

/* tuttiCommInitAll with settings, the same for all ranks; config NULL: the defaults. */
TUTTI_API tuttiResult_t tuttiCommInitAllConfig(tuttiComm_t* comms, int nranks, const int* devices,
                                               const tuttiConfig_t* config);

/*
 * Makes new communicators out of the ranks of comm: one per colour, ranks ordered by key, equal keys by their
 * rank in comm. color is at least 0, or TUTTI_SPLIT_NOCOLOR: then *newcomm is NULL and this rank takes part
 * in the call only. config NULL: the settings of comm. Collective over comm, which goes on to be usable;
 * opens no connections. May stand in a group; *newcomm is then set when tuttiGroupEnd returns.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiCommSplit(tuttiComm_t comm, int color, int key, tuttiComm_t* newcomm,
                                       const tuttiConfig_t* config);

/*
 * Makes a second communicator of the same ranks, for use from another thread or in another order. Otherwise
 * as tuttiCommSplit.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiCommDuplicate(tuttiComm_t comm, tuttiComm_t* newcomm,
                                           const tuttiConfig_t* config);

/*
 * Makes one communicator per host out of the ranks of comm: those that reach each other's memory, ordered by
 * rank. Otherwise as tuttiCommSplit.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiCommSplitHost(tuttiComm_t comm, tuttiComm_t* newcomm,
                                           const tuttiConfig_t* config);

/*
 * Makes a communicator of the ranks that are left, in the order of their old ranks, also from a broken
 * communicator.
 *
 * excludeRanks: excludeCount ranks of comm to leave out besides those known to be dead; NULL with 0: only
 * these. The ranks left agree on the union of what they know and name, so they need not pass the same list.
 * Called by every rank that is left. flags: TUTTI_SHRINK_DEFAULT or TUTTI_SHRINK_ABORT. config NULL: the
 * settings of comm. comm stays the caller's to destroy. tuttiRemoteError on a minority that lost touch with
 * the rest; tuttiTimeout by initTimeoutMs.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiCommShrink(tuttiComm_t comm, const int* excludeRanks, int excludeCount,
                                        tuttiComm_t* newcomm, const tuttiConfig_t* config, int flags);

/* ---- Asking a communicator ----------------------------------------------------------------------------- */

/* Any thread, any time, also when it is broken or finalized. */

/* Writes the number of ranks. */
TUTTI_API tuttiResult_t tuttiCommCount(tuttiComm_t comm, int* count);

/* Writes this rank's number, 0 <= rank < count. */
TUTTI_API tuttiResult_t tuttiCommUserRank(tuttiComm_t comm, int* rank);

/* Writes TUTTI_DEVICE_HOST or the CUDA ordinal of this rank. */
TUTTI_API tuttiResult_t tuttiCommDevice(tuttiComm_t comm, int* device);

/*
 * Writes the state of the communicator: tuttiSuccess (in order), tuttiInProgress (a non-blocking init or
 * finalize goes on), or the result of the first cause by which it broke. Does not wait and does not move
 * data.
 */
TUTTI_API tuttiResult_t tuttiCommGetAsyncError(tuttiComm_t comm, tuttiResult_t* asyncError);

/*
 * Writes the ranks that are known to be dead or gone, ascending. *count is the room in ranks on entry and the
 * number of such ranks on return; when the room is too small, as many as fit are written and the answer is
 * tuttiInvalidArgument with *count set. ranks may be NULL when *count is 0.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiCommGetFailed(tuttiComm_t comm, int* ranks, int* count);

/*
 * Writes what the communicator holds. stats was set by TUTTI_MEM_STATS_INIT.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiCommMemStats(tuttiComm_t comm, tuttiMemStats_t* stats);

/*
 * Writes how the last collective that moved data on this rank ran: algorithm, why, bytes. (The exchange of
 * addresses that comes before it on a communicator with registrations is not counted.) plan was set by
 * TUTTI_PLAN_INIT. For the thread that drives the rank, while no collective of it runs. tuttiInvalidUsage
 * before the first collective.
 */
TUTTI_API tuttiResult_t tuttiCommLastPlan(tuttiComm_t comm, tuttiPlan_t* plan);

/*
 * Changes timeoutMs (at least 1) for the calls made after it. Every rank calls it at the same place among its
 * collectives; it does not wait for them.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiCommSetTimeout(tuttiComm_t comm, int64_t timeoutMs);

/* ---- Ending communicators ------------------------------------------------------------------------------ */

/*
 * Says that this rank will make no more calls, and waits until its own queued ones are complete; it does not
 * wait for other ranks, which may still be in their last call. Later collectives on comm answer
 * tuttiInvalidUsage; asking it goes on, and tuttiCommDestroy is still due. A second finalize answers
 * tuttiInvalidUsage; inside a group as well. On a broken communicator: tuttiBroken. tuttiMismatch when the
 * last call of this rank turns out to differ from another rank's.
 */
TUTTI_API tuttiResult_t tuttiCommFinalize(tuttiComm_t comm);

/*
 * Finalizes if that was not done, and gives everything back; comm is no handle from then on. Does not wait
 * for other ranks: one thread may destroy the ranks of a process one after the other, in any order. A rank
 * that another still needs for a running call has finished its part of that call, or the call is broken.
 * tuttiInvalidUsage while a call runs on comm in another thread, or inside a group that has calls on comm:
 * nothing is destroyed then. A broken communicator is destroyed like any other and answers tuttiSuccess.
 * tuttiMismatch as from tuttiCommFinalize, if that was not called: comm is destroyed all the same.
 */
TUTTI_API tuttiResult_t tuttiCommDestroy(tuttiComm_t comm);

/*
 * Breaks the communicator at once and destroys it; comm is no handle from then on (there is no destroy after
 * it). For any thread, at any time, also while others of this process are inside calls on comm: these end
 * with tuttiBroken, and what they use is given back when the last of them has left. The other ranks get
 * tuttiRemoteError that names this rank, from the call they are in or from their next one. Does not wait for
 * them; returns within 2 seconds.
 */
TUTTI_API tuttiResult_t tuttiCommAbort(tuttiComm_t comm);

/*
 * Breaks the communicator at once on all ranks, as tuttiCommAbort does, but keeps it: for leaving a call that
 * will not end, before tuttiCommShrink. Any thread, any time. On a broken communicator it does nothing.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiCommRevoke(tuttiComm_t comm);

/* ---- Collectives --------------------------------------------------------------------------------------- */

/* All ranks call with the same count, type, operation and root. Errors besides the refusals:
 * tuttiMismatch, tuttiTimeout, tuttiRemoteError, tuttiBroken, and tuttiSystemError when a rank has no memory
 * for the first call of its kind (see "Failures" on top). */

/*
 * recv[i] = op over all ranks of send[i], on every rank.
 * send, recv: count elements. In place: send == recv.
 */
TUTTI_API tuttiResult_t tuttiAllReduce(const void* send, void* recv, size_t count, tuttiDataType_t type,
                                       tuttiRedOp_t op, tuttiComm_t comm, tuttiStream_t stream);

/*
 * recv[i] on every rank = send[i] of root.
 * send: count elements, used on root only, NULL or anything elsewhere. recv: count elements. In place on
 * root: send == recv.
 */
TUTTI_API tuttiResult_t tuttiBroadcast(const void* send, void* recv, size_t count, tuttiDataType_t type,
                                       int root, tuttiComm_t comm, tuttiStream_t stream);

/*
 * tuttiBroadcast in place on every rank: buffer, count elements, is read on root and written elsewhere. Ranks
 * may mix the two functions in one call.
 */
TUTTI_API tuttiResult_t tuttiBcast(void* buffer, size_t count, tuttiDataType_t type, int root,
                                   tuttiComm_t comm, tuttiStream_t stream);

/*
 * recv[i] on root = op over all ranks of send[i].
 * send: count elements. recv: count elements, written on root only, NULL or anything elsewhere. In place on
 * root: send == recv.
 */
TUTTI_API tuttiResult_t tuttiReduce(const void* send, void* recv, size_t count, tuttiDataType_t type,
                                    tuttiRedOp_t op, int root, tuttiComm_t comm, tuttiStream_t stream);

/*
 * recv[i] on rank r = op over all ranks of send[r * recvcount + i].
 * send: n * recvcount elements. recv: recvcount elements. In place: recv == send + rank * recvcount; the
 * other blocks of send are unchanged.
 */
TUTTI_API tuttiResult_t tuttiReduceScatter(const void* send, void* recv, size_t recvcount,
                                           tuttiDataType_t type, tuttiRedOp_t op, tuttiComm_t comm,
                                           tuttiStream_t stream);

/*
 * recv[r * sendcount + i] on every rank = send[i] of rank r.
 * send: sendcount elements. recv: n * sendcount elements. In place: send == recv + rank * sendcount.
 */
TUTTI_API tuttiResult_t tuttiAllGather(const void* send, void* recv, size_t sendcount, tuttiDataType_t type,
                                       tuttiComm_t comm, tuttiStream_t stream);

/* Completes on a rank when all ranks have called it (on a stream: when all have come to it). */
TUTTI_API tuttiResult_t tuttiBarrier(tuttiComm_t comm, tuttiStream_t stream);

/*
 * recv[r * count + i] on rank q = send[q * count + i] of rank r.
 * send, recv: n * count elements. In place: send == recv.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiAllToAll(const void* send, void* recv, size_t count, tuttiDataType_t type,
                                      tuttiComm_t comm, tuttiStream_t stream);

/*
 * Sends sendCounts[q] elements from send + sendDisplacements[q] to each rank q, and puts recvCounts[r]
 * elements of each rank r at recv + recvDisplacements[r]. sendCounts[q] of rank r equals recvCounts[r] of
 * rank q, else tuttiMismatch. The arrays have n entries, in elements; displacements NULL: packed in rank
 * order. Blocks of recv do not overlap; what lies between them is not touched. In place: send == recv with
 * equal counts and displacements.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiAllToAllV(const void* send, const size_t* sendCounts,
                                       const size_t* sendDisplacements, void* recv, const size_t* recvCounts,
                                       const size_t* recvDisplacements, tuttiDataType_t type,
                                       tuttiComm_t comm, tuttiStream_t stream);

/*
 * recv[r * sendcount + i] on root = send[i] of rank r.
 * send: sendcount elements. recv: n * sendcount elements, root only. In place on root: send == recv + root *
 * sendcount.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiGather(const void* send, void* recv, size_t sendcount, tuttiDataType_t type,
                                    int root, tuttiComm_t comm, tuttiStream_t stream);

/*
 * tuttiGather with a count per rank: sendcount elements of rank r, which root's recvCounts[r] equals, at
 * root's recv + recvDisplacements[r]. The arrays are read on root only; rules as tuttiAllToAllV.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiGatherV(const void* send, size_t sendcount, void* recv, const size_t* recvCounts,
                                     const size_t* recvDisplacements, tuttiDataType_t type, int root,
                                     tuttiComm_t comm, tuttiStream_t stream);

/*
 * recv[i] on rank r = send[r * recvcount + i] of root.
 * send: n * recvcount elements, root only. recv: recvcount elements. In place on root: recv == send + root *
 * recvcount.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiScatter(const void* send, void* recv, size_t recvcount, tuttiDataType_t type,
                                     int root, tuttiComm_t comm, tuttiStream_t stream);

/*
 * tuttiScatter with a count per rank: root's sendCounts[r] elements at send + sendDisplacements[r] go to rank
 * r, whose recvcount equals them. The arrays are read on root only; rules as tuttiAllToAllV.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiScatterV(const void* send, const size_t* sendCounts,
                                      const size_t* sendDisplacements, void* recv, size_t recvcount,
                                      tuttiDataType_t type, int root, tuttiComm_t comm, tuttiStream_t stream);

/*
 * tuttiAllGather with a count per rank: rank r's sendcount elements go to recv + recvDisplacements[r] on
 * every rank. Every rank passes the same recvCounts, and recvCounts[rank] equals its sendcount. Displacements
 * are each rank's own. Rules as tuttiAllToAllV; in place: send == recv + recvDisplacements[rank].
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiAllGatherV(const void* send, size_t sendcount, void* recv,
                                        const size_t* recvCounts, const size_t* recvDisplacements,
                                        tuttiDataType_t type, tuttiComm_t comm, tuttiStream_t stream);

/*
 * tuttiReduceScatter with a count per rank: rank r gets counts[r] elements, reduced over all ranks' block r,
 * which lies at send + sendDisplacements[r] (NULL: packed in rank order). Every rank passes the same counts;
 * displacements are each rank's own. recv: counts[rank] elements. In place: recv == send +
 * sendDisplacements[rank].
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiReduceScatterV(const void* send, const size_t* sendDisplacements, void* recv,
                                            const size_t* counts, tuttiDataType_t type, tuttiRedOp_t op,
                                            tuttiComm_t comm, tuttiStream_t stream);

/* ---- Point to point ------------------------------------------------------------------------------------ */

/* Outside the order of collectives: sends and receives of two ranks match each other in the order in which
 * they were called, and never wait for collectives. A pair that exchanges data both ways uses a group. */

/*
 * Sends count elements to peer; complete when send may be reused, which may be before peer has received. A
 * receive of another count or type is tuttiMismatch at both ends, for this pair only. peer == this rank is
 * legal inside a group.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiSend(const void* send, size_t count, tuttiDataType_t type, int peer,
                                  tuttiComm_t comm, tuttiStream_t stream);

/*
 * Receives count elements from peer. Errors as tuttiSend.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiRecv(void* recv, size_t count, tuttiDataType_t type, int peer, tuttiComm_t comm,
                                  tuttiStream_t stream);

/*
 * Receives count elements from whichever rank's send comes first, and writes that rank to *source on
 * completion. Host communicators only.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiRecvAny(void* recv, size_t count, tuttiDataType_t type, int* source,
                                     tuttiComm_t comm, tuttiStream_t stream);

/* ---- Groups -------------------------------------------------------------------------------------------- */

/* Several calls begun together. They progress together, so one thread can drive several ranks, several
 * communicators, or sends and receives in any order, without deadlock. */

/*
 * Opens a group in the calling thread; groups nest, and only the outermost tuttiGroupEnd acts. Calls inside
 * check their arguments at once, are noted, and answer without having begun. Buffers belong to the library
 * from the call on. tuttiSystemError without memory for it: no group is open then. A thread that ends with
 * its group open drops it, and nothing of it is begun.
 */
TUTTI_API tuttiResult_t tuttiGroupStart(void);

/*
 * Begins everything noted since tuttiGroupStart. Calls on one communicator keep their order; different
 * communicators do not wait for each other. Null-stream calls of host communicators are complete on return.
 *
 * If a call that this thread made while the group was open was refused, answers that first refusal, with its
 * text, and begins nothing: all ranks' communicators stay as they were. This holds for every function but
 * those that only ask, such as tuttiCommCount or tuttiCommLastPlan. Nothing is begun either, and the answer
 * is tuttiInvalidUsage, when another thread is inside a call on a communicator of the group or has finalized
 * it.
 *
 * A communicator that fails takes no other along, be it while running or before: the calls on the others run,
 * and the answer is the first failure. On a communicator that was aborted or destroyed since its calls were
 * noted that is tuttiBroken. The group is closed in every case. Without an open group: tuttiInvalidUsage.
 */
TUTTI_API tuttiResult_t tuttiGroupEnd(void);

/* ---- Memory -------------------------------------------------------------------------------------------- */

/*
 * Allocates bytes bytes, for any communicator of this process: the fastest memory for large calls, because
 * peers can read and write it directly (unless a warning says otherwise). device: TUTTI_DEVICE_HOST or a CUDA
 * ordinal. Aligned to a page (4096 bytes), zeroed on the host. bytes 0: *pointer is NULL. tuttiSystemError
 * when there is no memory; tuttiNotSupported for GPU ordinals (today).
 */
TUTTI_API tuttiResult_t tuttiMemAlloc(void** pointer, size_t bytes, int device);

/*
 * Gives back memory of tuttiMemAlloc. NULL does nothing. No call may be using it, and registrations that lie
 * in it are to be ended before (tuttiCommDeregister). A pointer that tuttiMemAlloc did not return:
 * tuttiInvalidArgument.
 */
TUTTI_API tuttiResult_t tuttiMemFree(void* pointer);

/*
 * Declares that [buffer, buffer + bytes) will be used in calls on comm, so that peers may read and write it
 * directly. Calls each of whose buffers lies wholly in one registration, on every rank, skip the copy through
 * slots; the others run as before.
 *
 * Collective: every rank calls it, with its own buffer and size, at the same place among its collectives; it
 * does not wait for the other ranks, and a rank that leaves it out is caught as tuttiMismatch by the next
 * collective. bytes is not 0. Ranges may overlap, and be registered with several communicators. *handle goes
 * to tuttiCommDeregister. Memory from tuttiMemAlloc qualifies, unless a warning said that it is not shared;
 * other memory does where all ranks are in this process. Where it does not: tuttiNotSupported, *handle is
 * NULL, the call counts as made, and slots are used. Not inside a group: tuttiInvalidUsage.
 */
TUTTI_API tuttiResult_t tuttiCommRegister(tuttiComm_t comm, void* buffer, size_t bytes, void** handle);

/*
 * Ends a registration; the memory itself stays the caller's. Local: no call on comm may be running, and other
 * ranks need not do the same. Inside a group that has calls on comm: tuttiInvalidUsage. A handle that is not
 * one of comm: tuttiInvalidArgument. NULL does nothing. Destroying the communicator ends its registrations as
 * well.
 */
TUTTI_API tuttiResult_t tuttiCommDeregister(tuttiComm_t comm, void* handle);

/* ---- Streams of the host ------------------------------------------------------------------------------- */

/* Queues of calls that the library runs in order while the caller computes. */

/*
 * Makes a stream for host communicators. It belongs to the caller; several communicators and threads may use
 * it.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiStreamCreate(tuttiStream_t* stream);

/*
 * Waits for what is queued and gives the stream back. Answers as tuttiStreamSynchronize.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiStreamDestroy(tuttiStream_t stream);

/*
 * Waits until everything queued before is complete. Answers the first error of calls completed since the last
 * synchronize; each such error is also kept on its communicator.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiStreamSynchronize(tuttiStream_t stream);

/*
 * tuttiSuccess when everything queued is complete, tuttiInProgress when not, or the error that
 * tuttiStreamSynchronize would answer (which still answers it). Does not wait.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiStreamQuery(tuttiStream_t stream);

/*
 * Queues a function that runs once everything queued before it is complete. It runs in a thread of the
 * library, holds up what is queued after it, and must not call the library.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiStreamAddCallback(tuttiStream_t stream, tuttiStreamCallback_t callback,
                                               void* context);

/* ---- Operations of the program's own ------------------------------------------------------------------- */

/*
 * Makes the operation sum over ranks of (*scalar of that rank) * send[i], for calls of this type on comm.
 * scalar: one element of type, where residence says. Local, but all ranks make their operations in the same
 * order. *op is valid on comm until tuttiRedOpDestroy; each rank has its own scalar.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiRedOpCreatePreMulSum(tuttiRedOp_t* op, const void* scalar, tuttiDataType_t type,
                                                  tuttiScalarResidence_t residence, tuttiComm_t comm);

/*
 * Makes an operation out of the caller's associative function, for host communicators. commutative 0:
 * contributions are combined in the order of ranks; 1: in any order, which allows more algorithms. context is
 * handed to function. Otherwise as tuttiRedOpCreatePreMulSum.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiRedOpCreateUser(tuttiRedOp_t* op, tuttiUserFunction_t function, void* context,
                                             int commutative, tuttiComm_t comm);

/*
 * Ends an operation that was made on comm. Calls that were begun before may still be running.
 *
 * Not built yet: answers tuttiNotSupported.
 */
TUTTI_API tuttiResult_t tuttiRedOpDestroy(tuttiRedOp_t op, tuttiComm_t comm);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TUTTI_TUTTI_H */
