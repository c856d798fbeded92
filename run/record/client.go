package record

import (
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// Client records what the client itself used, and how late it was. The documentation of run.json explains each
// field.
type Client struct {
	IssueLagUS    ledger.LagUS `json:"issue_lag_us"`    // time from scheduled to issued
	DispatchLagUS ledger.LagUS `json:"dispatch_lag_us"` // time from scheduled to sent
	// last token readable, at the earliest, to completion reported
	ReportLagUS       ledger.LagUS            `json:"report_lag_us"`
	StagesUS          map[string]ledger.LagUS `json:"stages_us"` // the time of a sample, split into stages
	IssueLagCounts    []ledger.Bucket         `json:"issue_lag_counts"`
	DispatchLagCounts []ledger.Bucket         `json:"dispatch_lag_counts"`

	CPUS             float64 `json:"cpu_s"`
	CPUUserS         float64 `json:"cpu_user_s"`
	CPUSystemS       float64 `json:"cpu_system_s"`
	CPUUSPerSample   float64 `json:"cpu_us_per_sample"`
	ThreadsMax       int     `json:"threads_max"`
	RSSMaxBytes      int64   `json:"rss_max_bytes"`
	RSSAnonMaxBytes  int64   `json:"rss_anon_max_bytes"` // largest anonymous part of the resident memory
	PreemptiveSwitch int64   `json:"preemptive_switches"`

	GCPauses         uint64  `json:"gc_pauses"`
	GCPauseMaxS      float64 `json:"gc_pause_max_s"`
	OtherPauses      uint64  `json:"other_pauses"` // pauses of all goroutines other than for garbage collection
	OtherPauseMaxS   float64 `json:"other_pause_max_s"`
	SchedLatencyP99S float64 `json:"sched_latency_p99_s"` // p99 of the time that ready goroutines waited to run
	SchedLatencyMaxS float64 `json:"sched_latency_max_s"`

	ClockDriftUS    float64              `json:"clock_drift_us"` // drift of the wall clock against the monotonic clock
	IssueThread     loadgen.ThreadInfo   `json:"issue_thread"`
	LoopRealtime    bool                 `json:"loop_realtime"` // whether all loops had real-time priority
	Loops           []backends.LoopStats `json:"loops"`         // one per shard; none with net/http
	Exhausted       backends.Exhausted   `json:"exhausted,omitzero"`
	RingWakes       int                  `json:"ring_wakes"`
	RingFullWaits   int                  `json:"ring_full_waits"`
	RequestBytes    int64                `json:"request_bytes"`
	RequestsSpilled bool                 `json:"requests_spilled"`
	ScratchBytes    int64                `json:"scratch_bytes"` // largest length of the scratch file
}
