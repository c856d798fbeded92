//go:build !cgo || noloadgen

package loadgen

import (
	"errors"
	"time"
)

// ErrNotBuilt is returned if this program was built without LoadGen.
var ErrNotBuilt = errors.New("this program was built without LoadGen (build tag noloadgen, or CGO_ENABLED=0): it " +
	"reads logs but runs no test. Build it with 'make build'")

// Built reports whether LoadGen is linked into this program.
const Built = false

// The bridge's types without fields. Every constructor returns ErrNotBuilt.
type (
	SUT        struct{}
	QSL        struct{}
	Shard      struct{}
	ThreadInfo struct {
		TimerSlackNS int64 `json:"timer_slack_ns"`
		Realtime     bool  `json:"realtime"`
	}
)

// Kinds of configuration files.
const (
	ConfBuiltIn = 0
	ConfUser    = 1
	ConfAudit   = 2
)

func ConstructSUT(string, int, int) (*SUT, error) { return nil, ErrNotBuilt }
func DestroySUT(*SUT)                             {}
func (*SUT) Shards() []*Shard                     { return nil }
func (*SUT) Flushes() []int                       { return nil }
func (*SUT) Flushed() int                         { return 0 }

func ConstructQSL(string, int, int, func([]int) error, func([]int) error, func(error)) (*QSL, error) {
	return nil, ErrNotBuilt
}
func DestroyQSL(*QSL) {}

func (*Shard) Pop([]Query) int                                           { return 0 }
func (*Shard) Wait([]Query, time.Duration) (int, bool)                   { return 0, false }
func (*Shard) Park() bool                                                { return false }
func (*Shard) Unpark()                                                   {}
func (*Shard) FD() int                                                   { return -1 }
func (*Shard) FirstTokenComplete(ResponseID, []int32)                    {}
func (*Shard) QuerySamplesComplete(ResponseID, []int32, int)             {}
func (*Shard) QuerySamplesCompleteBytes(ResponseID, []byte, int)         {}
func (*Shard) Hold(ResponseID, []int32, int)                             {}
func (*Shard) HoldBytes(ResponseID, []byte, int)                         {}
func (*Shard) Flush()                                                    {}
func (*Shard) Wakes() int                                                { return 0 }
func (*Shard) FullWaits() int                                            { return 0 }
func (*TestSettings) FromConfig(path, model, scenario string, _ int) int { return -1 }

func StartTest(*SUT, *QSL, TestSettings, LogSettings, string) (ThreadInfo, error) {
	return ThreadInfo{}, ErrNotBuilt
}
func QuerySamplesComplete(ResponseID, []int32, int)     {}
func QuerySamplesCompleteBytes(ResponseID, []byte, int) {}
func FirstTokenComplete(ResponseID, []int32)            {}
func DefaultTestSettings() TestSettings                 { return TestSettings{} }
func Version() string                                   { return "none" }
func Revision() string                                  { return "none" }
func SHA1OfFiles() map[string]string                    { return nil }
