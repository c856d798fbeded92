//go:build cgo && !noloadgen

// HOT PATH: IssueQuery, lg_complete, lg_complete_all, lg_first_token. No lock, no allocation, no call into Go.
#if !__has_include("loadgen.h")
#error "LoadGen is not built. Run 'make setup' in the top folder (or set LOADGEN_SDIST, LOADGEN_SRC or LOADGEN_ROOT)."
#endif
#if __has_include("loadgen_build_key.h")
#include "loadgen_build_key.h"
#else
#define LG_BUILD_KEY "none"
#endif

#include <malloc.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "bridge.h"
#include "loadgen.h"
#include "query_sample_library.h"
#include "system_under_test.h"
#include "test_settings.h"
#include "version.h"

extern "C" {
void go_load_samples(uintptr_t handle, const uint64_t* indices, size_t n);
void go_unload_samples(uintptr_t handle, const uint64_t* indices, size_t n);
}

#ifdef LG_NVTX
void (*lg_on_issue)(uint64_t seq);
void (*lg_on_flush)(void);
#endif

namespace {

static_assert(sizeof(mlperf::QuerySampleIndex) == sizeof(uint64_t), "sample indices cross as 64-bit words");
static_assert(sizeof(mlperf::ResponseId) == sizeof(uint64_t), "response ids cross as 64-bit words");
static_assert(sizeof(lg_answer) == sizeof(mlperf::QuerySampleResponse) &&
                  offsetof(lg_answer, id) == offsetof(mlperf::QuerySampleResponse, id) &&
                  offsetof(lg_answer, data) == offsetof(mlperf::QuerySampleResponse, data) &&
                  offsetof(lg_answer, size) == offsetof(mlperf::QuerySampleResponse, size) &&
                  offsetof(lg_answer, n_tokens) == offsetof(mlperf::QuerySampleResponse, n_tokens),
              "answers cross as they are");

// The clock that LoadGen measures with: libstdc++'s high_resolution_clock is the system clock.
int64_t NowNS() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

void Wake(lg_ring* ring) {
  const uint64_t one = 1;
  ring->wakes++;
  while (write(ring->event_fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

// Publishes head and wakes the consumer if it sleeps. The fence pairs with that of the consumer, which sets parked and
// then reads head again.
void Publish(lg_ring* ring, uint64_t head) {
  __atomic_store_n(&ring->head, head, __ATOMIC_SEQ_CST);
  if (__atomic_exchange_n(&ring->parked, 0, __ATOMIC_SEQ_CST) == 1) Wake(ring);
}

// This call recognizes LoadGen's log thread, which asks for the library's name. The log thread writes to the log
// buffers of the threads that report answers. If a reporting thread preempts it during a write, that thread recurses in
// LoadGen's logger until its stack overflows. Threads of the same real-time priority do not preempt each other.
void LevelLogThread(bool realtime) {
  if (!realtime) return;
  sched_param priority = {};
  priority.sched_priority = 1;
  sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority);
}

}  // namespace

struct lg_sut : public mlperf::SystemUnderTest {
  lg_sut(const char* name, size_t n, size_t capacity) : name_(name), rings_(n), pushed_(n) {
    for (lg_ring*& ring : rings_) {
      ring = static_cast<lg_ring*>(aligned_alloc(64, (sizeof(lg_ring) + 63) / 64 * 64));
      *ring = lg_ring{};
      ring->mask = capacity - 1;
      ring->slots = static_cast<lg_query*>(calloc(capacity, sizeof(lg_query)));
      ring->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
      ring->held = static_cast<lg_answer*>(calloc(LG_HELD_ANSWERS, sizeof(lg_answer)));
      ring->held_bytes = static_cast<uint8_t*>(malloc(LG_HELD_BYTES));
    }
  }
  ~lg_sut() override {
    for (lg_ring* ring : rings_) {
      close(ring->event_fd);
      free(ring->held_bytes);
      free(ring->held);
      free(ring->slots);
      free(ring);
    }
  }

  const std::string& Name() override { return name_; }

  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    const int64_t now = NowNS();
    for (const mlperf::QuerySample& sample : samples) {
      LG_MARK(lg_on_issue, seq_);
      Push(LeastOutstanding(), lg_query{sample.id, sample.index, seq_++, calls_, now});
    }
    calls_++;
    for (size_t i = 0; i < rings_.size(); i++) {
      if (rings_[i]->head != pushed_[i]) Publish(rings_[i], pushed_[i]);
    }
  }

  // At the end of a test LoadGen frees four small blocks for each query. glibc would first keep them in its fast bins,
  // and join them with their neighbours later; without fast bins this needs a quarter less time. LoadGen flushes after
  // its last query, so an Offline test lacks them from the start; no difference to its requests was found.
  void FlushQueries() override {
#ifdef M_MXFAST
    mallopt(M_MXFAST, 0);
#endif
    LG_MARK(lg_on_flush);
    flushes_.push_back(calls_);
    __atomic_store_n(&flushed_, seq_, __ATOMIC_SEQ_CST);
  }

  // Marks the end of the queries and wakes the consumers.
  void End() {
    for (lg_ring* ring : rings_) {
      __atomic_store_n(&ring->ended, 1, __ATOMIC_SEQ_CST);
      Wake(ring);
    }
  }

  size_t LeastOutstanding() const {
    size_t best = 0;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < rings_.size() && rings_.size() > 1; i++) {
      const uint64_t outstanding = pushed_[i] - __atomic_load_n(&rings_[i]->done, __ATOMIC_RELAXED);
      if (outstanding < least) {
        least = outstanding;
        best = i;
      }
    }
    return best;
  }

  // A ring becomes full only in Offline, where sleeping delays no schedule. The sleep is much shorter than the consumer
  // needs for a full ring, and long enough to cost little processor time.
  void Push(size_t i, const lg_query& query) {
    lg_ring* ring = rings_[i];
    while (pushed_[i] - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) > ring->mask) {
      Publish(ring, pushed_[i]);
      ring->full_waits++;
      usleep(50 + ring->mask / 16);
    }
    ring->slots[pushed_[i] & ring->mask] = query;
    pushed_[i]++;
  }

  const std::string name_;
  std::vector<lg_ring*> rings_;
  std::vector<uint64_t> pushed_;
  std::vector<uint64_t> flushes_;
  uint64_t seq_ = 0;
  uint64_t calls_ = 0;
  uint64_t flushed_ = 0;  // value of seq_ at the last flush
};

struct lg_qsl : public mlperf::QuerySampleLibrary {
  lg_qsl(const char* name, size_t total, size_t performance, uintptr_t handle)
      : name_(name), total_(total), performance_(performance), handle_(handle) {}
  const std::string& Name() override {
    if (std::this_thread::get_id() != test_thread_) LevelLogThread(realtime_);
    return name_;
  }
  size_t TotalSampleCount() override { return total_; }
  size_t PerformanceSampleCount() override { return performance_; }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>& samples) override {
    go_load_samples(handle_, samples.data(), samples.size());
  }
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>& samples) override {
    go_unload_samples(handle_, samples.data(), samples.size());
  }

  const std::string name_;
  std::thread::id test_thread_;  // the thread that runs StartTest
  bool realtime_ = false;        // whether that thread has real-time priority
  const size_t total_, performance_;
  const uintptr_t handle_;
};

namespace {

void Load(mlperf::TestSettings* to, const lg_settings& from) {
#define LG_NUMBER(type, name) to->name = from.name;
#define LG_ENUM(type, name) to->name = static_cast<mlperf::type>(from.name);
  LG_SETTINGS(LG_NUMBER, LG_ENUM)
#undef LG_NUMBER
#undef LG_ENUM
}

void Store(lg_settings* to, const mlperf::TestSettings& from) {
#define LG_NUMBER(type, name) to->name = from.name;
#define LG_ENUM(type, name) to->name = static_cast<int32_t>(from.name);
  LG_SETTINGS(LG_NUMBER, LG_ENUM)
#undef LG_NUMBER
#undef LG_ENUM
}

// If the system refuses memory or a thread, the environment is at fault, so this is not reported as a bug.
[[noreturn]] void DieOfLimits(const char* what) {
  fprintf(
      stderr,
      "mlperf-go: LoadGen got no memory or no thread (%s). Raise the limits of this process: ulimit -v (RLIMIT_AS), "
      "ulimit -u (RLIMIT_NPROC), the container's memory and pids.\n",
      what);
  _exit(3);
}

[[noreturn]] void Die() {
  const char* what = "no exception";
  try {
    if (std::exception_ptr e = std::current_exception()) std::rethrow_exception(e);
  } catch (const std::bad_alloc& e) {
    DieOfLimits(e.what());
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::resource_unavailable_try_again || e.code() == std::errc::not_enough_memory)
      DieOfLimits(e.what());
    what = e.what();
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
    what = "an exception that is no std::exception";
  }
  fprintf(
      stderr,
      "mlperf-go: LoadGen stopped with a fatal C++ error: %s. This is a bug: please report it with the run's folder.\n",
      what);
  _exit(70);
}

// LoadGen sleeps until each scheduled time, and the default timer slack of 50 us would add to every latency. Timer
// slack and priority end with the thread. Threads that it creates, such as LoadGen's log thread, do not inherit the
// priority.
lg_thread_info Sharpen() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  sched_param priority = {};
  priority.sched_priority = 1;
  lg_thread_info info;
  info.realtime = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) == 0;
  info.timer_slack_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  return info;
}

}  // namespace

lg_sut* lg_sut_new(const char* name, size_t rings, size_t capacity) { return new lg_sut(name, rings, capacity); }
void lg_sut_free(lg_sut* sut) { delete sut; }
lg_ring* lg_sut_ring(lg_sut* sut, size_t i) { return sut->rings_[i]; }

size_t lg_sut_flushes(lg_sut* sut, uint64_t* marks, size_t n) {
  std::copy_n(sut->flushes_.begin(), std::min(n, sut->flushes_.size()), marks);
  return sut->flushes_.size();
}

uint64_t* lg_sut_flushed(lg_sut* sut) { return &sut->flushed_; }

lg_qsl* lg_qsl_new(const char* name, size_t total, size_t performance, uintptr_t handle) {
  return new lg_qsl(name, total, performance, handle);
}
void lg_qsl_free(lg_qsl* qsl) { delete qsl; }

void lg_default_settings(lg_settings* out) {
  // LoadGen leaves this one field uninitialized; 1 is its intended value.
  mlperf::TestSettings settings = mlperf::TestSettings();
  settings.token_latency_scaling_factor = 1;
  Store(out, settings);
}

int lg_from_config(lg_settings* inout, const char* path, const char* model, const char* scenario, int conf_type) {
  mlperf::TestSettings settings = mlperf::TestSettings();
  Load(&settings, *inout);
  int rc = 0;
  // FromConfig logs a faulty line to a log buffer of its thread. If that thread later completed samples, LoadGen's log
  // thread could read its buffer before the buffer of StartTest. The test could then end while an entry in StartTest's
  // buffer still refers to the test's sample set.
  std::thread([&] { rc = settings.FromConfig(path, model, scenario, conf_type); }).join();
  Store(inout, settings);
  return rc;
}

void lg_start_test(lg_sut* sut, lg_qsl* qsl, const lg_settings* settings, const lg_log_settings* log,
                   const char* audit_config, lg_thread_info* info) {
  std::set_terminate(Die);
  mlperf::TestSettings test = mlperf::TestSettings();
  Load(&test, *settings);
  mlperf::LogSettings logs;
  logs.log_output.outdir = log->outdir;
  logs.log_output.prefix = log->prefix;
  logs.log_output.suffix = log->suffix;
  logs.log_output.prefix_with_datetime = log->prefix_with_datetime;
  logs.log_output.copy_detail_to_stdout = log->copy_detail_to_stdout;
  logs.log_output.copy_summary_to_stdout = log->copy_summary_to_stdout;
  logs.enable_trace = log->enable_trace;
  const std::string audit = audit_config;
  std::thread([&] {
    *info = Sharpen();
    qsl->test_thread_ = std::this_thread::get_id();
    qsl->realtime_ = info->realtime != 0;
    mlperf::StartTest(sut, qsl, test, logs, audit);
  }).join();
  sut->End();
}

void lg_complete(uint64_t id, const uint8_t* data, size_t size, int64_t n_tokens) {
  mlperf::QuerySampleResponse response(id, reinterpret_cast<uintptr_t>(data), size, n_tokens);
  mlperf::QuerySamplesComplete(&response, 1);
}

void lg_complete_all(lg_answer* answers, size_t n) {
  mlperf::QuerySamplesComplete(reinterpret_cast<mlperf::QuerySampleResponse*>(answers), n);
}

void lg_first_token(uint64_t id, const uint8_t* data, size_t size) {
  mlperf::QuerySampleResponse response(id, reinterpret_cast<uintptr_t>(data), size, 0);
  mlperf::FirstTokenComplete(&response, 1);
}

const char* lg_version(void) { return mlperf::LoadgenVersion().c_str(); }
const char* lg_revision(void) { return mlperf::LoadgenGitRevision().c_str(); }
const char* lg_sha1_of_files(void) { return mlperf::LoadgenSha1OfFiles().c_str(); }

// The object file contains the key, because the go tool links again only if an object has changed, and does not look
// into archives.
const char* lg_build_key(void) { return LG_BUILD_KEY; }
