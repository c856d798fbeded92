// A Server run against a system under test in C++: IssueQuery hands each query to a worker thread through a locked
// queue.
#ifndef MLPERF_GO_CPPSUT_H_
#define MLPERF_GO_CPPSUT_H_
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
void cppsut_run(const char* outdir, const char* audit, double qps, uint64_t queries, size_t total, int trace);
#ifdef __cplusplus
}
#endif
#endif
