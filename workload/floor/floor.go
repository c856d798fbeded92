package floor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Schema identifies the format of a calibration (docs/reference/calibration.md).
const Schema = "mlperf-go/calibration/1"

// FileName is the usual name of the file.
const FileName = "calibration.json"

// Calibration is calibration.json.
type Calibration struct {
	Schema   string        `json:"schema"`
	Tool     record.Tool   `json:"tool"`
	Machine  Machine       `json:"machine"`
	Taken    time.Time     `json:"taken"`
	TookS    float64       `json:"took_s"`
	Shards   int           `json:"shards"` // event loops of the client
	Closed   []ClosedPoint `json:"closed_loop"`
	Open     []OpenPoint   `json:"open_loop"`
	Highest  Rates         `json:"highest"`
	Sending  *Sending      `json:"sending,omitempty"` // nil: the calibration was made by an earlier version
	Errors   Errors        `json:"event_time_errors"`
	Shortest Shortest      `json:"shortest_latencies"`
}

// Machine contains the properties of a machine on which the figures depend.
type Machine struct {
	CPUModel    string `json:"cpu_model"`
	CPUsAllowed int    `json:"cpus_allowed"`
	Kernel      string `json:"kernel"`
	Arch        string `json:"arch"`
}

// MachineOf returns the properties that a calibration stores.
func MachineOf(h *hostinfo.Facts) Machine {
	return Machine{CPUModel: h.CPUModel, CPUsAllowed: h.CPUsAllowed, Kernel: h.Kernel, Arch: h.Arch}
}

// Rates are per second.
type Rates struct {
	Requests float64 `json:"requests_per_s"` // on schedule
	Tokens   float64 `json:"tokens_per_s"`   // in long streams
}

// ClosedPoint is the throughput of clients that send their next request at once.
type ClosedPoint struct {
	Concurrency  int     `json:"concurrency"`
	RequestsPerS float64 `json:"requests_per_s"`
}

// OpenPoint is a constant rate and whether the client held its schedule.
type OpenPoint struct {
	AskedPerS      float64 `json:"asked_per_s"`
	SentPerS       float64 `json:"sent_per_s"`
	ClientDelayP99 float64 `json:"client_delay_p99_s"`
	Held           bool    `json:"held"`
}

// Spread is the size of an error, or a latency, in seconds.
type Spread struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean_s"`
	P50   float64 `json:"p50_s"`
	P99   float64 `json:"p99_s"`
}

// Sending compares when requests were sent with when they were due.
type Sending struct {
	Rate      float64 `json:"requests_per_s"`
	Late      Spread  `json:"late"`                 // due to sent, of equidistant requests
	Variation float64 `json:"gap_variation"`        // coefficient of variation of their gaps; 0 is exact
	Waiting   float64 `json:"wait_variation"`       // the same for a thread that sends nothing and only waits
	Gaps      int     `json:"random_gaps"`          // of a Poisson process
	Distance  float64 `json:"random_gaps_ks"`       // Kolmogorov-Smirnov distance of them from its distribution
	Limit     float64 `json:"random_gaps_ks_limit"` // above it the test rejects at the 1 % level
}

// Errors compare the event log with the times at which the simulator wrote.
type Errors struct {
	Rate   float64 `json:"requests_per_s"`    // of the comparison
	Tokens int     `json:"tokens_per_answer"` // of the comparison
	Event  Spread  `json:"event"`             // written to stamped, of every token
	TTFT   Spread  `json:"ttft"`              // the client's minus the server's
	ITL    Spread  `json:"itl"`               // difference of the two, without its sign
}

// Shortest are latencies against a server that answers at once, one request at a time.
type Shortest struct {
	TTFT Spread `json:"ttft"`
	ITL  Spread `json:"itl"` // between tokens that are written one by one without a pause
	E2E  Spread `json:"e2e"`
}

// longest bounds the file.
const longest = 1 << 20

// Read reads a calibration. Its error is of usage and names the file; a missing file is fs.ErrNotExist in it.
func Read(path string) (*Calibration, error) {
	const hint = "Write it with `mlperf-go calibrate --calibration FILE`"
	text, err := atomicfile.ReadWhole(path, longest)
	if err != nil {
		return nil, exit.Usage(exit.CodeCalibration, hint, "the calibration cannot be read: %w", err)
	}
	c := &Calibration{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(c)
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("text follows the object")
	}
	switch {
	case err == nil && c.Schema != Schema:
		err = fmt.Errorf("its schema is %.60q, not %q", c.Schema, Schema)
	case err == nil && !(c.Highest.Requests > 0 && c.Highest.Tokens > 0):
		err = errors.New("highest.requests_per_s and highest.tokens_per_s must be above 0")
	}
	if err != nil {
		return nil, exit.Usage(exit.CodeCalibration, hint, "%s is no calibration: %w", path, err)
	}
	return c, nil
}

// Write writes a calibration.
func (c *Calibration) Write(path string) error { return atomicfile.WriteJSON(path, c) }

// Use compares a run with a calibration.
type Use struct {
	Taken   time.Time `json:"taken"`
	Shards  int       `json:"shards"`
	Highest Rates     `json:"highest"`
	Share   float64   `json:"share"` // of the highest rates that the run used: the larger one of requests and tokens
	Event   Spread    `json:"event_error"`
	TTFT    Spread    `json:"shortest_ttft"`
	// Foreign lists why the calibration is not for this machine and program; empty: it is.
	Foreign []string `json:"foreign"`
}

// Beside compares a run with a calibration. used are the rates of the run, shards its event loops.
func Beside(c *Calibration, host *hostinfo.Facts, tool record.Tool, used Rates, shards int) *Use {
	u := &Use{Taken: c.Taken, Shards: c.Shards, Highest: c.Highest, Event: c.Errors.Event, TTFT: c.Shortest.TTFT,
		Share:   max(used.Requests/c.Highest.Requests, used.Tokens/c.Highest.Tokens),
		Foreign: []string{}}
	here := MachineOf(host)
	differ := func(what, there, here string) {
		if there != here {
			u.Foreign = append(u.Foreign, fmt.Sprintf("%s %.60q, not %.60q", what, there, here))
		}
	}
	differ("CPU", c.Machine.CPUModel, here.CPUModel)
	differ("kernel", c.Machine.Kernel, here.Kernel)
	differ("architecture", c.Machine.Arch, here.Arch)
	differ("version", c.Tool.Version, tool.Version)
	count := func(what string, there, here int) {
		if there != here {
			u.Foreign = append(u.Foreign, fmt.Sprintf("%d %s, not %d", there, what, here))
		}
	}
	count("CPUs", c.Machine.CPUsAllowed, here.CPUsAllowed)
	count("event loops", c.Shards, shards)
	return u
}

// String returns the comparison in one line.
func (u *Use) String() string {
	where := "on this machine"
	if len(u.Foreign) > 0 {
		where = "calibrated elsewhere (" + strings.Join(u.Foreign, "; ") + ")"
	}
	return fmt.Sprintf("at most %.0f requests/s and %.0f tokens/s, TTFT from %.3f ms, events %.3f ms late %s; this run "+
		"had %.2g %% of the highest rate", u.Highest.Requests, u.Highest.Tokens, u.TTFT.Mean*1e3, u.Event.Mean*1e3, where,
		100*u.Share)
}
