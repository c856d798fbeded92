//go:build cgo && !noloadgen

#include "cppsut.h"

#include <sched.h>
#include <sys/prctl.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "loadgen.h"
#include "query_sample_library.h"
#include "system_under_test.h"
#include "test_settings.h"

namespace {

class WorkerSUT : public mlperf::SystemUnderTest {
 public:
  WorkerSUT() : worker_([this] { Work(); }) {}
  ~WorkerSUT() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
    worker_.join();
  }
  const std::string& Name() override { return name_; }
  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      waiting_.insert(waiting_.end(), samples.begin(), samples.end());
    }
    wake_.notify_one();
  }
  void FlushQueries() override {}

 private:
  void Work() {
    std::vector<mlperf::QuerySample> batch;
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        batch.swap(waiting_);
      }
      for (const mlperf::QuerySample& sample : batch) {
        const int32_t first = static_cast<int32_t>(31 * sample.index % 32000);
        mlperf::QuerySampleResponse token(sample.id, reinterpret_cast<uintptr_t>(&first), sizeof first, 0);
        mlperf::FirstTokenComplete(&token, 1);
        uint64_t index = sample.index;
        mlperf::QuerySampleResponse answer(sample.id, reinterpret_cast<uintptr_t>(&index), sizeof index, 2);
        mlperf::QuerySamplesComplete(&answer, 1);
      }
      batch.clear();
    }
  }

  const std::string name_ = "cpp-sut";
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<mlperf::QuerySample> waiting_;
  bool ended_ = false;
  std::thread worker_;
};

class Library : public mlperf::QuerySampleLibrary {
 public:
  explicit Library(size_t total) : total_(total) {}
  const std::string& Name() override { return name_; }
  size_t TotalSampleCount() override { return total_; }
  size_t PerformanceSampleCount() override { return total_; }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>&) override {}
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>&) override {}

 private:
  const std::string name_ = "cpp-qsl";
  const size_t total_;
};

}  // namespace

void cppsut_run(const char* outdir, const char* audit, double qps, uint64_t queries, size_t total, int trace) {
  mlperf::TestSettings settings = mlperf::TestSettings();
  settings.scenario = mlperf::TestScenario::Server;
  settings.mode = mlperf::TestMode::PerformanceOnly;
  settings.server_target_qps = qps;
  settings.min_query_count = queries;
  settings.min_duration_ms = 0;
  settings.use_token_latencies = true;
  settings.token_latency_scaling_factor = 1;
  mlperf::LogSettings log;
  log.log_output.outdir = outdir;
  log.enable_trace = trace;
  const std::string audit_path = audit;
  std::thread([&] {
    // The issue thread has the same timer slack and priority as the bridge's.
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    sched_param priority = {};
    priority.sched_priority = 1;
    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority);
    WorkerSUT sut;
    Library library(total);
    mlperf::StartTest(&sut, &library, settings, log, audit_path);
  }).join();
}
