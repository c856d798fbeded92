package backends

import "github.com/mlperf-go/mlperf-go/ledger"

// LoopStats are what an event loop did during one Serve.
type LoopStats struct {
	Realtime       bool            `json:"realtime"`        // its thread had real-time priority
	CPU            int             `json:"cpu"`             // the processor that its thread was pinned to; -1: any
	CoalesceUS     float64         `json:"coalesce_us"`     // length of the pauses between wake-ups; 0: none allowed
	Pauses         int64           `json:"pauses"`          // that were made
	Turns          int64           `json:"turns"`           // rounds: what is ready is handled in each
	Sleeps         int64           `json:"sleeps"`          // rounds that waited for something to do
	Events         int64           `json:"events"`          // of sockets and of the ring
	StallMaxUS     float64         `json:"stall_max_us"`    // longest round: nothing else is looked at meanwhile
	Stalls         []ledger.Bucket `json:"stalls"`          // rounds by length
	CPUSeconds     float64         `json:"cpu_s"`           // of its thread
	RunDelayS      float64         `json:"run_delay_s"`     // its thread was ready and had to wait for a processor
	ConnectionsMax int             `json:"connections_max"` // open together
	LimitMax       int             `json:"limit"`           // requests in flight that were allowed; 0: no limit
	QueueMax       int             `json:"queue_max"`       // queries that waited for a connection together
	Unasked        int64           `json:"unasked"`         // answers that came although nothing was asked
}
