package recording

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Bounds of recordings.
const (
	mostFiles     = 100_000
	mostSessions  = 1_000_000
	mostCalls     = 10_000 // of a session
	largestRecord = 256 << 20
	largestTotal  = 4 << 30
)

// Session is a recorded session: calls in the order of their start.
type Session struct {
	ID    string
	Calls []Call
}

// Call is one request of a session.
type Call struct {
	After []int         // calls whose answers it waited for
	Delay time.Duration // from the last of those answers, or from the session's start
	Model string        // as recorded
	Input int           // tokens; 0: unknown
	// Output is the tokens of the answer; 0: unknown.
	Output int

	// Messages is the JSON array of all messages, in OpenAI's form; nil: the recording has lengths only.
	Messages json.RawMessage
	Tools    json.RawMessage // functions, in OpenAI's form; nil: none
	// Continues is 1 + the call whose prompt and answer begin this prompt; 0: none. Own is the JSON array of the messages
	// after them.
	Continues int
	Own       json.RawMessage

	Blocks      []uint64 // ids of blocks of the prompt; within a session, equal ids mean equal contents
	BlockTokens int      // tokens of a block
}

// Options define how recordings are read.
type Options struct {
	Sessions      int           // to read; 0: all
	IdleGapCap    time.Duration // longest time between the starts of two calls; 0: any
	MaxWait       time.Duration // longest delay of a call; 0: any
	IgnoreDelays  bool
	ThinkTimeOnly bool // whether to keep pauses of users only
	BlockTokens   int  // of a Weka trace that does not contain it
	KeepErrors    bool // whether to keep calls that failed in the recording
	SkipInvalid   bool // whether to skip unreadable sessions, and return why
}

// formats are the readers of one session by the name of its form.
var formats = map[string]func(text []byte, o *Options) (*raw, error){"otel": readOTel, "weka": readWeka}

// Read returns the sessions of a file, or of the .json and .jsonl files of a folder in the order of their names. A file
// contains one JSON object for each session. The notes name the sessions that were skipped, and why.
func Read(path, format string, o Options) (list []Session, notes []string, err error) {
	parse, ok := formats[format]
	if !ok {
		return nil, nil, fmt.Errorf("no reader for recorded sessions of format %q; use otel or weka", format)
	}
	files, err := filesOf(path, mostFiles)
	if err != nil {
		return nil, nil, err
	}
	r := reader{parse: parse, o: &o}
	for _, name := range files {
		if err := r.file(name); errors.Is(err, errEnough) {
			break
		} else if err != nil && !r.skips(name, err) {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(r.list) == 0 {
		return nil, nil, fmt.Errorf("%s has no session with calls; %d files were read%s", path, len(files), first(r.notes))
	}
	return r.list, r.notes, nil
}

func first(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return "; " + notes[0]
}

// filesOf returns the files of a path, at most the given number.
func filesOf(path string, most int) ([]string, error) {
	s, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the recorded sessions: %w", err)
	}
	if !s.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the recorded sessions: %w", err)
	}
	var files []string
	for _, e := range entries {
		if suffix := filepath.Ext(e.Name()); e.Type().IsRegular() && (suffix == ".json" || suffix == ".jsonl") {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	switch {
	case len(files) == 0:
		return nil, fmt.Errorf("the folder %s has no .json and no .jsonl file", path)
	case len(files) > most:
		return nil, fmt.Errorf("the folder %s has more than %d files", path, most)
	}
	return files, nil
}

var errEnough = errors.New("enough sessions")

type reader struct {
	parse func([]byte, *Options) (*raw, error)
	o     *Options
	list  []Session
	notes []string
	bytes int64
}

// skips records why a session cannot be read, if that is allowed.
func (r *reader) skips(name string, err error) bool {
	const most = 20
	if r.o.SkipInvalid && len(r.notes) < most {
		r.notes = append(r.notes, fmt.Sprintf("%s is skipped: %v", name, err))
	}
	return r.o.SkipInvalid
}

// file reads one JSON document after the other.
func (r *reader) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if s, err := f.Stat(); err != nil || !s.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	in := json.NewDecoder(io.LimitReader(bufio.NewReader(f), largestTotal))
	for n := 1; ; n++ {
		var text json.RawMessage
		if err := in.Decode(&text); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("session %d: %w", n, err)
		}
		r.bytes += int64(len(text))
		if len(text) > largestRecord || r.bytes > largestTotal {
			return fmt.Errorf("session %d: a session may have %d bytes, and all of them %d", n, largestRecord, largestTotal)
		}
		if err := r.add(text); errors.Is(err, errEnough) {
			return err
		} else if err != nil && !r.skips(fmt.Sprintf("%s session %d", name, n), err) {
			return fmt.Errorf("session %d: %w", n, err)
		}
	}
}

func (r *reader) add(text []byte) error {
	s, err := r.parse(text, r.o)
	if err != nil {
		return err
	}
	if len(s.calls) > mostCalls {
		return fmt.Errorf("it has %d calls; %d are allowed", len(s.calls), mostCalls)
	}
	if len(s.calls) == 0 {
		return nil
	}
	r.list = append(r.list, s.session(r.o))
	if n := len(r.list); n == r.o.Sessions || n == mostSessions {
		return errEnough
	}
	return nil
}

// raw is a session as recorded.
type raw struct {
	id    string
	calls []rawCall
}

// rawCall is a call and its times in seconds on any clock.
type rawCall struct {
	Call
	start, end float64
	before     int     // the call that it certainly waited for; -1: unknown
	isUser     bool    // whether a user's pause preceded it
	think      float64 // seconds of that pause; -1: unknown
}

// session infers the calls for which each call waited, and the delay after them.
func (s *raw) session(o *Options) Session {
	out := Session{ID: s.id}
	times := newWarp(s.calls, o.IdleGapCap.Seconds())
	var front []int // calls that have ended, except those for which a call of the front waited
	var running []int
	for i := range s.calls {
		c := &s.calls[i]
		var ended []int
		running = slices.DeleteFunc(running, func(k int) bool {
			isOver := s.calls[k].end <= c.start
			if isOver {
				ended = append(ended, k)
			}
			return isOver
		})
		slices.SortFunc(ended, func(a, b int) int { return cmp.Compare(s.calls[a].end, s.calls[b].end) })
		for _, k := range ended {
			front = slices.DeleteFunc(front, func(f int) bool { return slices.Contains(s.calls[k].After, f) })
			front = append(front, k)
		}
		c.After = s.waits(c, front)
		c.Delay = s.delay(c, times, o)
		running = append(running, i)
		out.Calls = append(out.Calls, c.Call)
	}
	return out
}

// waits returns the call that c continues and the calls of the front since then; without such a call, the whole front.
func (s *raw) waits(c *rawCall, front []int) (after []int) {
	since := -1.0
	if c.before >= 0 {
		after, since = append(after, c.before), s.calls[c.before].end
	}
	for _, k := range front {
		if k != c.before && (c.before < 0 || s.calls[k].start >= since) {
			after = append(after, k)
		}
	}
	slices.Sort(after)
	return after
}

func (s *raw) delay(c *rawCall, times warp, o *Options) time.Duration {
	if o.IgnoreDelays {
		return 0
	}
	last := times.at(s.calls[0].start)
	for _, k := range c.After {
		last = max(last, times.at(s.calls[k].end))
	}
	seconds := times.at(c.start) - last
	if o.ThinkTimeOnly {
		if seconds = max(c.think, 0); c.think < 0 && c.isUser {
			seconds = times.at(c.start) - last
		}
	}
	const longest = 366 * 24 * 3600.0
	wait := time.Duration(math.Round(min(max(seconds, 0), longest)*1e6)) * time.Microsecond
	if o.MaxWait > 0 {
		wait = min(wait, o.MaxWait)
	}
	return wait
}

// warp shortens the time between the starts of two calls to a cap.
type warp struct {
	starts []float64
	moved  []float64 // the starts afterwards
	cap    float64
}

func newWarp(calls []rawCall, most float64) warp {
	w := warp{cap: most}
	if most <= 0 {
		return w
	}
	for i, c := range calls { // they are sorted by their start
		to := c.start
		if i > 0 {
			to = w.moved[i-1] + min(c.start-w.starts[i-1], most)
		}
		w.starts, w.moved = append(w.starts, c.start), append(w.moved, to)
	}
	return w
}

func (w warp) at(seconds float64) float64 {
	if len(w.starts) == 0 {
		return seconds
	}
	i, found := slices.BinarySearch(w.starts, seconds)
	if !found {
		i--
	}
	if i < 0 {
		return seconds
	}
	return w.moved[i] + min(seconds-w.starts[i], w.cap)
}

// compact removes the spaces of a JSON text, so that equal values have equal bytes.
func compact(text json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
