package calibrate

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/floor"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// served is the simulator's record of a stream (sim --write-log). Times are wall clock in ns since 1970.
type served struct {
	ID        string `json:"id"`
	ArrivalNS int64  `json:"arrival_ns"`
	Writes    []struct {
		AtNS   int64 `json:"at_ns"`
		Tokens int   `json:"tokens"`
	} `json:"writes"`
}

// errors compares the event log of a run with the simulator's own times.
func (c *calibration) errors(ctx context.Context) error {
	c.Step(fmt.Sprintf("error of time stamps at %g requests/s", errorRate))
	log := filepath.Join(c.folder, "writes.jsonl")
	s, err := rehearse.StartSimulator(ctx, c.Program, append(rehearse.SimulatorArguments("", "vllm"),
		"--answers", "random", "--ttft", simTTFT.String(), "--tpot", simTPOT.String(),
		"--max-num-seqs", "1024", "--write-log", log))
	if err != nil {
		return err
	}
	defer s.Stop()
	const loops = 1 // so that the requests have one order
	_, folder, err := c.run(ctx, []string{s.URL}, loops, longAnswer,
		profile.Stage{Arrival: profile.Constant, Rate: errorRate, Duration: c.part(errorShare)})
	if err != nil {
		return err
	}
	s.Stop() // completes its file
	truth, err := readServed(log)
	if err != nil {
		return err
	}
	var seen []eventlog.Request
	keep := func(_ *eventlog.Header, r *eventlog.Request) error {
		seen = append(seen, eventlog.Request{SentNS: r.SentNS, Events: slices.Clone(r.Events)})
		return nil
	}
	if _, err := eventlog.Read(filepath.Join(folder, eventlog.FileName), keep); err != nil {
		return err
	}
	c.got.Errors, err = compare(seen, truth)
	c.got.Errors.Rate, c.got.Errors.Tokens = errorRate, longAnswer
	return err
}

func readServed(path string) ([]served, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []served
	d := json.NewDecoder(bufio.NewReader(f))
	for {
		var one served
		switch err := d.Decode(&one); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("the simulator's write log %s: %w", path, err)
		}
		list = append(list, one)
	}
}

// The id of a request: digits of its event loop, and its number (backends/internal/policy). A request of the preflight
// has another loop.
const (
	loopDigits = 20
	idDigits   = 32
)

// compare pairs the requests of one event loop with the server's writes, in the order of sending, and returns the
// differences.
func compare(seen []eventlog.Request, truth []served) (floor.Errors, error) {
	loops := map[string]int{}
	for i := range truth {
		if len(truth[i].ID) == idDigits {
			loops[truth[i].ID[:loopDigits]]++
		}
	}
	// The preflight sent one request. The load sent at least two.
	truth = slices.DeleteFunc(truth, func(s served) bool {
		return len(s.ID) != idDigits || loops[s.ID[:loopDigits]] < 2
	})
	slices.SortFunc(truth, func(a, b served) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(seen, func(a, b eventlog.Request) int { return cmp.Compare(a.SentNS, b.SentNS) })
	if len(seen) != len(truth) {
		return floor.Errors{}, fmt.Errorf("the client sent %d requests and the simulator streamed %d answers", len(seen),
			len(truth))
	}
	var event, ttft, itl []float64
	for i := range seen {
		client, server := tokensSeen(&seen[i]), tokensWritten(&truth[i])
		if len(client) != len(server) {
			return floor.Errors{}, fmt.Errorf("answer %s: the client saw %d tokens and the simulator wrote %d", truth[i].ID,
				len(client), len(server))
		}
		for k := range client {
			if client[k] < server[k] {
				return floor.Errors{}, fmt.Errorf("answer %s: the client's stamp of token %d is %d ns before its write",
					truth[i].ID, k, server[k]-client[k])
			}
			event = append(event, float64(client[k]-server[k])/1e9)
			if k > 0 {
				itl = append(itl, math.Abs(float64(client[k]-client[k-1]-(server[k]-server[k-1])))/1e9)
			}
		}
		if len(client) > 0 {
			ttft = append(ttft, float64(client[0]-seen[i].SentNS-(server[0]-truth[i].ArrivalNS))/1e9)
		}
	}
	return floor.Errors{Event: spread(event), TTFT: spread(ttft), ITL: spread(itl)}, nil
}

// tokensSeen returns the time of each token.
func tokensSeen(r *eventlog.Request) (at []int64) {
	for _, e := range r.Events {
		for range e.Tokens {
			at = append(at, e.AtNS)
		}
	}
	return at
}

func tokensWritten(s *served) (at []int64) {
	for _, w := range s.Writes {
		for range w.Tokens {
			at = append(at, w.AtNS)
		}
	}
	return at
}

// spread returns the figures of some values. Percentiles are elements trunc(n·p), as everywhere in this program.
func spread(values []float64) floor.Spread {
	if len(values) == 0 {
		return floor.Spread{}
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	n := float64(len(values))
	return floor.Spread{Count: int64(len(values)), Mean: sum / n, P50: values[int(n*0.5)], P99: values[int(n*0.99)]}
}
