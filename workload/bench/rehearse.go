package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/recording"
)

// Sizes of a rehearsal.
const (
	rehearsedRequests = 4  // of a stage
	rehearsedStages   = 2  // the first and the last
	rehearsedTokens   = 32 // of a prompt, an answer or a prefix
	rehearsedPixels   = 64 // of a side of an image
	rehearsedUsers    = 4
	rehearsedRate     = 50.0 // requests a second
	rehearsedWait     = 20 * time.Millisecond
)

// RehearsalReason is why a rehearsal is not a measurement.
const RehearsalReason = "a few requests of each kind, with short prompts and answers (--rehearse)"

// Rehearse returns a small version of a profile, which sends a few short requests of the same kind within seconds.
// If files do not exist, it writes synthetic ones into a folder with the given access; the notes name them.
func Rehearse(p *profile.Profile, folder string, access atomicfile.Access) (*profile.Profile, []string, error) {
	text, err := p.Encode()
	if err != nil {
		return nil, nil, err
	}
	small, err := profile.Parse(p.Name, bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	shrinkLoad(&small.Load)
	shrinkData(&small.Data)
	r := rehearsal{folder: folder, access: access}
	if err := r.supply(small); err != nil {
		return nil, nil, fmt.Errorf("the made-up data of the rehearsal cannot be written: %w", err)
	}
	return small, r.notes, nil
}

func shrinkLoad(l *profile.Load) {
	l.Pause, l.Warmup, l.Cooldown = 0, profile.Window{}, profile.Window{}
	l.Leave, l.Slow = nil, nil // there are too few requests for shares
	if n := len(l.Stages); n > rehearsedStages {
		l.Stages = append(l.Stages[:rehearsedStages-1:rehearsedStages-1], l.Stages[n-1])
	}
	for i := range l.Stages {
		shrinkStage(&l.Stages[i])
	}
	if s := l.Sweep; s != nil {
		s.Stages, s.StageDuration, s.Requests = rehearsedStages, 200*time.Millisecond, rehearsedRequests
		s.Timeout, s.InFlight, s.Ramp = 0, rehearsedUsers, 0
	}
	if l.Trace != nil {
		l.Trace.Scale = 1e-3
	}
}

func shrinkStage(s *profile.Stage) {
	s.Requests, s.Duration, s.Ramp, s.ThinkTime, s.Warmup = rehearsedRequests, 0, nil, nil, false
	s.Concurrency = min(s.Concurrency, rehearsedUsers)
	if s.Rate > 0 {
		s.Rate = rehearsedRate
	}
	switch s.Arrival {
	case profile.Scattered, profile.PoissonSeconds:
		s.Duration, s.Requests = rehearsedRequests*time.Second/rehearsedRate, 0
		if s.Arrival == profile.PoissonSeconds { // it draws the requests of whole seconds
			s.Duration, s.Rate = time.Second, rehearsedRequests
		}
	case profile.Sessions:
		s.Requests = rehearsedStages
	}
}

func shrinkData(d *profile.Data) {
	d.Rows, d.Prefix = 0, min(d.Prefix, rehearsedTokens)
	for _, of := range []**profile.Distribution{&d.Input, &d.Output} {
		shrink(of, rehearsedTokens)
	}
	for i := range d.Buckets {
		d.Buckets[i].Tokens = min(d.Buckets[i].Tokens, rehearsedTokens)
	}
	if g := d.Groups; g != nil {
		g.Count, g.Users = min(g.Count, rehearsedUsers), min(g.Users, rehearsedUsers)
		shrink(&g.System, rehearsedTokens)
		shrink(&g.Question, rehearsedTokens)
	}
	if t := d.Turns; t != nil {
		t.Conversations, t.SharedSystem = min(t.Conversations, rehearsedUsers), min(t.SharedSystem, rehearsedTokens)
		shrink(&t.System, rehearsedTokens)
		shrink(&t.FirstInput, rehearsedTokens)
		shrink(&t.Count, rehearsedStages)
		shrink(&t.ToolLatency, rehearsedWait.Seconds())
	}
	if s := d.Sessions; s != nil {
		s.MaxWait, s.Count = rehearsedWait.Seconds(), min(s.Count, rehearsedStages)
		s.DefaultOutput = min(s.DefaultOutput, rehearsedTokens)
	}
	if i := d.Images; i != nil {
		shrink(&i.Count, rehearsedStages)
		for k := range i.Resolutions {
			i.Resolutions[k].Width = min(i.Resolutions[k].Width, rehearsedPixels)
			i.Resolutions[k].Height = min(i.Resolutions[k].Height, rehearsedPixels)
		}
	}
}

// shrink replaces a distribution by one with values up to a limit.
func shrink(d **profile.Distribution, most float64) {
	if *d != nil {
		*d = &profile.Distribution{Kind: "uniform", Min: min((*d).Min, most), Max: most}
	}
}

// rehearsal supplies replacements of missing files.
type rehearsal struct {
	access atomicfile.Access
	folder string
	notes  []string
}

func (r *rehearsal) supply(p *profile.Profile) error {
	d := &p.Data
	lines := func(form func(i int) string) func(io.Writer) error {
		return func(w io.Writer) error {
			for i := range rehearsedRequests * rehearsedRequests {
				if _, err := io.WriteString(w, form(i)+"\n"); err != nil {
					return err
				}
			}
			return nil
		}
	}
	words := func(i int) string {
		return fmt.Sprintf("Rehearsal %d, made up by mlperf-go: %s", i, strings.Repeat("the quick brown fox ", 1+i%3))
	}
	switch {
	case d.Kind == profile.Recorded:
		return r.file(&d.Path, string(d.Format)+".jsonl", func(w io.Writer) error {
			return recording.Rehearse(w, string(d.Format), p.Seed, rehearsedStages)
		})
	case d.Kind == profile.Prompts && (d.Format == "text" || d.Format == "sonnet"):
		return r.file(&d.Path, "prompts.txt", lines(words))
	case d.Kind == profile.Prompts || d.Kind == profile.ShareGPT:
		if len(d.SampleColumns) > 0 || d.Format != "csv" {
			d.SampleColumns = nil
		}
		if _, err := os.Stat(d.Path); err != nil {
			d.Category = ""
		}
		return r.file(&d.Path, "prompts."+rowSuffix(d.Format), lines(func(i int) string {
			if d.Format == "csv" {
				return map[bool]string{true: "prompt\n"}[i == 0] + `"` + words(i) + `"`
			}
			return fmt.Sprintf(rowForm(d), words(i), words(i+1))
		}))
	}
	trace := func(f *profile.TraceFile) error {
		if f == nil {
			return nil
		}
		return r.file(&f.Path, f.Format+".trace", lines(func(i int) string { return traceRow(f.Format, i) }))
	}
	if err := trace(d.Trace); err != nil {
		return err
	}
	return trace(p.Load.Trace)
}

func rowSuffix(f profile.Format) string {
	if f == "csv" {
		return "csv"
	}
	return "jsonl"
}

// rowForm returns the row of a file of prompts, with verbs for its prompt and its answer.
func rowForm(d *profile.Data) string {
	switch {
	case d.Kind == profile.ShareGPT || d.Format == "sharegpt":
		return `{"conversations":[{"from":"human","value":%q},{"from":"gpt","value":%q}]}`
	case d.Format == "cnn_dailymail":
		return `{"article":%q,"highlights":%q}`
	case d.Format == "infinity_instruct":
		return `{"instruction":%q,"output":%q}`
	}
	return `{"text":%q,"response":%q}`
}

func traceRow(format string, i int) string {
	switch format {
	case "mooncake":
		return fmt.Sprintf(`{"timestamp":%d,"input_length":%d,"output_length":%d,"hash_ids":[%d,%d]}`, i*10, 20+i, 4+i, 0, i)
	case "azure":
		return fmt.Sprintf("%d.5,%d,%d", i, 20+i, 4+i)
	case "burstgpt":
		return map[bool]string{true: "Timestamp,Request tokens,Response tokens\n"}[i == 0] +
			fmt.Sprintf("%d,%d,%d", i, 20+i, 4+i)
	}
	return fmt.Sprintf(`{"seconds":%d,"input":%d,"output":%d}`, i, 20+i, 4+i)
}

// file writes a made-up file in place of one that does not exist.
func (r *rehearsal) file(path *string, name string, write func(io.Writer) error) error {
	if _, err := os.Stat(*path); err == nil {
		return nil
	}
	if err := os.MkdirAll(r.folder, r.access.Folder()); err != nil {
		return err
	}
	to := filepath.Join(r.folder, "rehearsal-"+name)
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close() // the explicit Close below reports errors
	w := bufio.NewWriter(f)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	r.notes = append(r.notes, fmt.Sprintf("%s does not exist: made-up data take its place (%s)", *path, to))
	*path = to
	return f.Close()
}
