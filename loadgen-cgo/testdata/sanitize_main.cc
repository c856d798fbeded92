// One LoadGen test through the bridge's C++ side with a consumer in C++, for the sanitizers: sanitize.sh builds and
// runs it. On SIGUSR1 it prints the stack of every thread and exits with 3.
//   sanitize_main SCENARIO OUTDIR [unanswered]
// With unanswered it answers nothing, so that StartTest waits forever.
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../bridge.h"

namespace {

size_t loads = 0, unloads = 0;
bool unanswered = false;

// LoadGen reserves 1024 log entries per thread (kTlsLogReservedEntryCount in its logging.cc), and its log thread may
// lose the entries of a thread that had more: StartTest then waits forever (docs/reference/loadgen.md, "Traps"). A
// query causes four entries of the answering thread and four of the issuing thread, so that no thread can exceed 1024
// entries in both phases together. Offline fills the rings, which are smaller.
constexpr uint64_t kQueries = 150;
constexpr uint64_t kSamples = 50;  // number of queries in the accuracy phase
constexpr size_t kSlots = 32;

// The consumer's half of the ring, like that in shard.go.
size_t Pop(lg_ring* ring, lg_query* to, size_t n) {
  const uint64_t tail = ring->tail;
  const uint64_t ready = __atomic_load_n(&ring->head, __ATOMIC_SEQ_CST) - tail;
  n = ready < n ? ready : n;
  for (size_t i = 0; i < n; i++) to[i] = ring->slots[(tail + i) & ring->mask];
  if (n > 0) __atomic_store_n(&ring->tail, tail + n, __ATOMIC_SEQ_CST);
  return n;
}

void Sleep(lg_ring* ring) {
  __atomic_store_n(&ring->parked, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&ring->head, __ATOMIC_SEQ_CST) == ring->tail &&
      !__atomic_load_n(&ring->ended, __ATOMIC_SEQ_CST)) {
    pollfd fd = {ring->event_fd, POLLIN, 0};
    poll(&fd, 1, 1000);
    uint64_t counter;
    if (read(ring->event_fd, &counter, sizeof counter) < 0) counter = 0;  // there was no wake-up
  }
  __atomic_store_n(&ring->parked, 0, __ATOMIC_SEQ_CST);
}

size_t Consume(lg_ring* ring) {
  std::vector<lg_query> queries(64);
  size_t answered = 0;
  for (;;) {
    const bool ended = __atomic_load_n(&ring->ended, __ATOMIC_SEQ_CST);
    const size_t n = Pop(ring, queries.data(), queries.size());
    for (size_t i = 0; i < n && !unanswered; i++) {
      // The bytes belong to the caller and are freed right after the call (rule 4).
      std::vector<uint8_t> answer(4 * (2 + queries[i].index % 7), uint8_t(queries[i].index));
      lg_first_token(queries[i].id, answer.data(), 4);
      __atomic_add_fetch(&ring->done, 1, __ATOMIC_SEQ_CST);
      lg_complete(queries[i].id, answer.data(), answer.size(), int64_t(answer.size() / 4));
      answered++;
    }
    if (n == 0 && ended) return answered;
    if (n == 0) Sleep(ring);
  }
}

std::atomic<size_t> printed{0};

void PrintStack(int) {
  fprintf(stderr, "thread %ld:\n", syscall(SYS_gettid));
  __sanitizer_print_stack_trace();
  printed++;
}

// Waits for SIGUSR1, then makes each thread print its stack, one after the other. The sanitizer runs a thread's signal
// handler only when the thread calls an intercepted function, so a thread that only computes may be missing.
void PrintStacksOnSignal(sigset_t set) {
  int received;
  sigwait(&set, &received);
  DIR* tasks = opendir("/proc/self/task");
  for (dirent* task = tasks ? readdir(tasks) : nullptr; task; task = readdir(tasks)) {
    const long id = atol(task->d_name);
    if (id <= 0 || id == syscall(SYS_gettid)) continue;
    const size_t before = printed;
    syscall(SYS_tgkill, getpid(), id, SIGUSR2);
    for (int i = 0; i < 100 && printed == before; i++) usleep(50000);  // 5 s: the first thread reads debug information
  }
  _exit(3);
}

// Must run before any other thread starts, because threads inherit the mask.
void WatchForSignal() {
  struct sigaction print = {};
  print.sa_handler = PrintStack;
  sigaction(SIGUSR2, &print, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread(PrintStacksOnSignal, set).detach();
}

}  // namespace

extern "C" void go_load_samples(uintptr_t, const uint64_t*, size_t) { loads++; }
extern "C" void go_unload_samples(uintptr_t, const uint64_t*, size_t) { unloads++; }

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  unanswered = argc > 3 && std::string(argv[3]) == "unanswered";
  const std::string scenario = argv[1], outdir = argv[2], audit = outdir + "/no-audit.config";
  lg_settings settings;
  lg_default_settings(&settings);
  const std::vector<std::string> names = {"SingleStream", "MultiStream", "Server", "Offline"};
  while (settings.scenario < 4 && names[settings.scenario] != scenario) settings.scenario++;
  if (settings.scenario == 4) return 2;
  WatchForSignal();
  settings.mode = 0;  // SubmissionRun: accuracy, then performance
  settings.min_duration_ms = 0;
  settings.min_query_count = kQueries;
  settings.server_target_qps = 2000;
  settings.use_token_latencies = 1;
  const size_t shards = 2;
  lg_sut* sut = lg_sut_new("sanitized", shards, kSlots);
  lg_qsl* qsl = lg_qsl_new("library", kSamples, 20, 1);
  size_t answered[shards];
  std::vector<std::thread> consumers;
  for (size_t i = 0; i < shards; i++) {
    consumers.emplace_back([sut, i, &answered] { answered[i] = Consume(lg_sut_ring(sut, i)); });
  }
  const lg_log_settings log = {outdir.c_str(), "mlperf_log_", "", 0, 0, 0, 1};
  lg_thread_info info;
  lg_start_test(sut, qsl, &settings, &log, audit.c_str(), &info);
  size_t total = 0;
  for (size_t i = 0; i < shards; i++) {
    consumers[i].join();
    total += answered[i];
  }
  const size_t flushes = lg_sut_flushes(sut, nullptr, 0);
  lg_sut_free(sut);
  lg_qsl_free(qsl);
  printf("%s: %zu samples, %zu flushes, %zu loads, %zu unloads\n", scenario.c_str(), total, flushes, loads, unloads);
  return total >= kQueries + kSamples && flushes == 4 && loads == 4 && unloads == 4 ? 0 : 1;
}
