// The bridge between Go and the official LoadGen: it translates types and nothing else.
//
// Ownership and threads. Each rule has a test named after its number (bridge_rules_test.go).
//  1. IssueQuery never enters Go. It copies {id, index, seq, call, time} into a ring in C memory, wakes the reader
//     of the ring if it sleeps, and returns.
//  2. A ring has one producer, the thread that runs StartTest, and one consumer, the goroutine that holds its Shard.
//  3. lg_sut_new allocates the rings and lg_sut_free frees them. Call lg_sut_free after StartTest has returned.
//  4. Answer bytes belong to the caller. LoadGen reads them inside lg_complete, lg_complete_all and lg_first_token and
//     keeps no pointer.
//  5. C keeps no Go pointer, and Go keeps no C pointer except those of the rings.
//  6. The completion and the first token of one sample must come from one OS thread, the first token first.
//  7. Only the two calls that load and unload samples enter Go (go_load_samples, go_unload_samples), on the StartTest
//     thread and outside the timed phases.
//  8. StartTest runs on a std::thread of its own, with 1 ns timer slack and, where permitted, SCHED_FIFO. Both end with
//     the thread.
//  9. An exception or abort inside LoadGen becomes one line on stderr, never a Go crash dump. The exit code is 3 if the
//     system refused memory or a thread, else 70.
// 10. A process runs one test. LoadGen keeps state that would disturb a second test, so the bridge rejects it.
#ifndef MLPERF_GO_BRIDGE_H_
#define MLPERF_GO_BRIDGE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// One issued sample.
typedef struct {
  uint64_t id;
  uint64_t index;
  uint64_t seq;       // order of issue over the whole test
  uint64_t call;      // number of the IssueQuery call that carried it
  int64_t issued_ns;  // wall-clock time in ns since 1970 at which LoadGen called IssueQuery
} lg_query;

// One answer. It has the layout of mlperf::QuerySampleResponse.
typedef struct {
  uint64_t id;
  uintptr_t data;
  size_t size;
  int64_t n_tokens;
} lg_answer;

// The most answers, and bytes of answers, that a consumer may hold back for lg_complete_all.
enum { LG_HELD_ANSWERS = 64, LG_HELD_BYTES = 64 << 10 };

// A single-producer single-consumer ring. Each counter has a cache line of its own.
typedef struct {
  uint64_t head;  // sequence number of the next sample; written by the producer
  uint64_t pad0[7];
  uint64_t tail;  // sequence number of the next sample to read; written by the consumer
  uint64_t pad1[7];
  uint32_t parked;  // 1 while the consumer sleeps or is about to
  uint32_t pad2[15];
  uint64_t done;  // samples completed, written by the consumer
  uint64_t pad3[7];
  uint32_t ended;  // 1 once StartTest has returned
  int32_t event_fd;
  uint64_t mask;
  lg_query* slots;
  uint64_t full_waits;  // times that IssueQuery slept because the ring was full
  uint64_t wakes;       // times that IssueQuery woke the consumer
  lg_answer* held;      // LG_HELD_ANSWERS answers for lg_complete_all; the consumer fills them
  uint8_t* held_bytes;  // LG_HELD_BYTES bytes, for the data of these answers
} lg_ring;

typedef struct lg_sut lg_sut;
typedef struct lg_qsl lg_qsl;

// Every field of mlperf::TestSettings, in its order: T(C type, field) for numbers, E(C++ enum, field) for enums.
#define LG_SETTINGS(T, E)                                \
  E(TestScenario, scenario)                              \
  E(TestMode, mode)                                      \
  T(double, single_stream_expected_latency_ns)           \
  T(double, single_stream_target_latency_percentile)     \
  T(double, multi_stream_expected_latency_ns)            \
  T(double, multi_stream_target_latency_percentile)      \
  T(uint64_t, multi_stream_samples_per_query)            \
  T(double, server_target_qps)                           \
  T(uint64_t, server_target_latency_ns)                  \
  T(double, server_target_latency_percentile)            \
  T(uint8_t, server_coalesce_queries)                    \
  T(int32_t, server_find_peak_qps_decimals_of_precision) \
  T(double, server_find_peak_qps_boundary_step_size)     \
  T(uint64_t, server_max_async_queries)                  \
  T(uint64_t, server_num_issue_query_threads)            \
  T(double, offline_expected_qps)                        \
  T(uint8_t, sample_concatenate_permutation)             \
  T(uint64_t, min_duration_ms)                           \
  T(uint64_t, max_duration_ms)                           \
  T(uint64_t, min_query_count)                           \
  T(uint64_t, max_query_count)                           \
  T(uint64_t, qsl_rng_seed)                              \
  T(uint64_t, sample_index_rng_seed)                     \
  T(uint64_t, schedule_rng_seed)                         \
  T(uint64_t, accuracy_log_rng_seed)                     \
  T(double, accuracy_log_probability)                    \
  T(uint64_t, accuracy_log_sampling_target)              \
  T(uint8_t, test05)                                     \
  T(uint64_t, test05_qsl_rng_seed)                       \
  T(uint64_t, test05_sample_index_rng_seed)              \
  T(uint64_t, test05_schedule_rng_seed)                  \
  T(uint8_t, print_timestamps)                           \
  T(uint8_t, performance_issue_unique)                   \
  T(uint8_t, performance_issue_same)                     \
  T(uint64_t, performance_issue_same_index)              \
  T(uint64_t, performance_sample_count_override)         \
  T(uint64_t, accuracy_sample_count_override)            \
  T(uint8_t, use_token_latencies)                        \
  T(uint64_t, server_ttft_latency)                       \
  T(uint64_t, server_tpot_latency)                       \
  T(uint8_t, infer_token_latencies)                      \
  T(uint64_t, token_latency_scaling_factor)

#define LG_NUMBER(type, name) type name;
#define LG_ENUM(type, name) int32_t name;
typedef struct {
  LG_SETTINGS(LG_NUMBER, LG_ENUM)
} lg_settings;
#undef LG_NUMBER
#undef LG_ENUM

// mlperf::LogSettings. Strings are borrowed for the call.
typedef struct {
  const char* outdir;
  const char* prefix;
  const char* suffix;
  uint8_t prefix_with_datetime;
  uint8_t copy_detail_to_stdout;
  uint8_t copy_summary_to_stdout;
  uint8_t enable_trace;
} lg_log_settings;

// Attributes that the system granted to the StartTest thread.
typedef struct {
  int64_t timer_slack_ns;
  int32_t realtime;  // 1: the thread runs under SCHED_FIFO
} lg_thread_info;

// Programs with the build tag nvtx call these C functions on the StartTest thread: lg_on_issue before a consumer can
// take a sample, and lg_on_flush after the last one.
#ifdef LG_NVTX
extern void (*lg_on_issue)(uint64_t seq);
extern void (*lg_on_flush)(void);
#define LG_MARK(hook, ...) hook(__VA_ARGS__)
#else
#define LG_MARK(hook, ...)
#endif

lg_sut* lg_sut_new(const char* name, size_t rings, size_t ring_capacity);
void lg_sut_free(lg_sut* sut);
lg_ring* lg_sut_ring(lg_sut* sut, size_t i);
// Copies at most n flush marks, each the number of IssueQuery calls before a FlushQueries. Returns the number of marks.
size_t lg_sut_flushes(lg_sut* sut, uint64_t* marks, size_t n);
// Returns where the number of samples issued before the last FlushQueries is kept, until lg_sut_free. Any thread may
// read it atomically.
uint64_t* lg_sut_flushed(lg_sut* sut);

lg_qsl* lg_qsl_new(const char* name, size_t total, size_t performance, uintptr_t handle);
void lg_qsl_free(lg_qsl* qsl);

void lg_default_settings(lg_settings* out);
int lg_from_config(lg_settings* inout, const char* path, const char* model, const char* scenario, int conf_type);
void lg_start_test(lg_sut* sut, lg_qsl* qsl, const lg_settings* settings, const lg_log_settings* log,
                   const char* audit_config, lg_thread_info* info);

// data is uint8_t* instead of void*, because with void* cgo would search the whole Go object around data for pointers
// and panic if it found one.
void lg_complete(uint64_t id, const uint8_t* data, size_t size, int64_t n_tokens);
// Reports several answers at one time. They and their data are in C memory.
void lg_complete_all(lg_answer* answers, size_t n);
void lg_first_token(uint64_t id, const uint8_t* data, size_t size);

const char* lg_version(void);
const char* lg_revision(void);
const char* lg_sha1_of_files(void);
const char* lg_build_key(void);

#ifdef __cplusplus
}
#endif
#endif  // MLPERF_GO_BRIDGE_H_
