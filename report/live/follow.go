package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/report"
)

// How a child's page is read. A tick of 64 pages has 10 KB.
const (
	followAgain  = 200 * time.Millisecond
	longestEvent = 1 << 20 // bytes
)

// Follow shows the pages of other processes, one after the other, until ctx ends: children that run with --live
// unix:SOCKET, to which the client connects whatever the address is. It does not return before.
func (s *Server) Follow(ctx context.Context, client *http.Client) {
	defer client.CloseIdleConnections()
	f := follower{feed: s.feed}
	for ctx.Err() == nil {
		f.read(ctx, client)
		select {
		case <-time.After(followAgain):
		case <-ctx.Done():
		}
	}
}

// follower passes the events of a child's page to the feed of its parent.
type follower struct {
	*feed
	after  int     // number of the child's last tick
	offset float64 // s from the axis of the child to the parent's
}

// read reads events until the child or ctx ends. It is no error if the child's page cannot be read: the child's own
// output shows why.
func (f *follower) read(ctx context.Context, client *http.Client) {
	url := fmt.Sprintf("http://localhost/events?after=%d", f.after)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return
	}
	response, err := client.Do(request)
	if err != nil {
		f.after = 0 // the child is gone, and the next one has its own numbers
		return
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, longestEvent)
	name, id := "", ""
	for lines.Scan() {
		field, value, _ := bytes.Cut(lines.Bytes(), []byte(": "))
		switch string(field) {
		case "event":
			name, id = string(value), ""
		case "id":
			id = string(value)
		case "data":
			f.event(name, id, value)
		}
	}
}

// event passes an event to the feed.
func (f *follower) event(name, id string, data []byte) {
	switch name {
	case "now":
		var rows [][2]string
		if json.Unmarshal(data, &rows) == nil {
			f.change(func() { f.setNow(append(slices.Clone(f.outer), rows...)) })
		}
	case "charts":
		var c report.LiveCharts
		if json.Unmarshal(data, &c) == nil && c.Client {
			f.change(func() { f.choose(c) })
		}
	case "steps": // of a campaign in another process
		var s report.LiveSteps
		if json.Unmarshal(data, &s) == nil {
			f.Steps(s)
		}
	case "tick":
		var t tick
		_, n, _ := strings.Cut(id, ":")
		number, err := strconv.Atoi(n)
		if err != nil || json.Unmarshal(data, &t) != nil {
			return
		}
		f.change(func() { f.pass(number, t) })
	case "end":
		f.after = 0 // the next child has its own numbers
	}
}

// pass adds a child's tick to the parent's axis.
func (f *follower) pass(number int, t tick) {
	if f.after == 0 {
		now := 0.0
		if f.seconds.started.IsZero() {
			f.seconds.started = time.Now().Add(-time.Duration((t.AtS + 0.5) * float64(time.Second)))
		} else {
			now = time.Since(f.seconds.started).Seconds() - t.AtS - 0.5
		}
		f.offset = math.Round(max(now, float64(f.seconds.done)))
	}
	f.after = number
	t.AtS += f.offset
	for i := range t.Failures {
		if at, err := strconv.ParseFloat(strings.TrimSuffix(t.Failures[i][0], " s"), 64); err == nil {
			t.Failures[i][0] = secondsText(at + f.offset)
		}
	}
	f.seconds.done, f.seconds.next = int(t.AtS+0.5), true
	f.append(t)
}
