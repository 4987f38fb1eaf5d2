// The stages of gpu_proof, each in a file of its own, stage_NAME.cc. A stage tells the report what it finds, and has
// passed if it told no fault. gpu_proof.cc has the table of them, tests/gpu/run the time that each may take.
#pragma once

#include "tests/gpu/report.h"

namespace tutti::cuda {

// What the device is, and that a kernel of ours runs there at all.
void probe(Report& report);

// Every algorithm and every reduceCopy, a few sizes each; the small one is for tools that make kernels slow.
void smoke(Report& report);
void smokeSmall(Report& report);

// Every type, operation, algorithm and format on 2, 4 and 8 ranks, against golden results; the small one is for tools
// that make kernels slow.
void matrix(Report& report);
void matrixSmall(Report& report);

// Bytes per second of reduceCopy beside the device's own copy; the small one is no measurement, and tries the stage
// itself.
void bandwidth(Report& report);
void bandwidthSmall(Report& report);

// Microseconds of an all-reduce; the small one is no measurement either.
void latency(Report& report);
void latencySmall(Report& report);

}  // namespace tutti::cuda
