// The ranges of a test in NVTX. Every function may be called from any thread, and does nothing before nvtx_open has
// returned NULL. One thread at a time owns a sample, as in the ledger.
#ifndef MLPERF_GO_NVTX_H
#define MLPERF_GO_NVTX_H

#include <stdint.h>
#include <stdlib.h>

// Loads the library with the given name and opens the domain "mlperf-go". Returns NULL, or the text of an error, which
// is valid until the next call.
const char* nvtx_open(const char* library);

// Ends the range of a sample and begins the range of the given phase, unless the phase is NVTX_END.
void nvtx_next(int64_t seq, int32_t phase);

// The phases of a sample. phase.go has the same numbers.
enum {
  NVTX_END,
  NVTX_ISSUE,
  NVTX_SEND,
  NVTX_FIRST_TOKEN,
  NVTX_STREAM,
  NVTX_ANSWER,
  NVTX_COMPLETE,
  NVTX_FLUSH,  // the flush phase of the test
  NVTX_PHASES
};

// Begin the first range of a sample, and the range from the last issue to the last answer.
void nvtx_issue(uint64_t seq);
void nvtx_flush(void);

static inline void* nvtx_issue_hook(void) { return (void*)nvtx_issue; }
static inline void* nvtx_flush_hook(void) { return (void*)nvtx_flush; }
static inline void nvtx_free(void* p) { free(p); }

#endif
