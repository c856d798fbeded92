package prompts

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/quote"
	"github.com/mlperf-go/mlperf-go/tokenizer"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Bounds of a file with prompts.
const (
	mostRows     = 1_000_000
	largestRow   = 16 << 20
	largestTotal = 4 << 30 // bytes of all texts
)

// entry is a row of a file: a prompt, and its recorded answer if there is one.
type entry struct{ prompt, answer string }

// layout is the place of prompts and answers in a named form.
type layout struct{ prompt, answer []string }

// layouts are the columns of the named forms; the first one that a row has counts.
var layouts = map[profile.Format]layout{
	"":                  {[]string{"prompt", "question", "text", "input", "instruction", "content"}, answers},
	"jsonl":             {[]string{"prompt", "question", "text", "input", "instruction", "content"}, answers},
	"json":              {[]string{"prompt", "question", "text", "input", "instruction", "content"}, answers},
	"csv":               {[]string{"prompt", "question", "text", "input", "instruction", "content"}, answers},
	"cnn_dailymail":     {[]string{"article"}, []string{"highlights"}},
	"billsum":           {[]string{"text", "article"}, []string{"summary"}},
	"infinity_instruct": {[]string{"instruction"}, []string{"output", "response"}},
}

var answers = []string{"response", "answer", "output", "completion", "target"}

// newFile returns the prompts of a file. They stay in memory.
func newFile(p *profile.Profile, o Options) (Source, error) {
	rows, err := load(p, o)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(o.Tokenizer, "")
	if err != nil {
		return nil, err
	}
	isPlain := make([]bool, len(rows)) // most texts have left the caches when a request needs them
	for i := range rows {
		isPlain[i] = quote.IsPlain(rows[i].prompt)
	}
	return &single{rows: len(rows), fill: func(row int, r *Request) error {
		r.Text, r.Plain = rows[row].prompt, isPlain[row]
		switch {
		case p.Data.Output != nil && p.Data.Output.Kind != "uniform":
			r.Output = output(p.Data.Output, r.source(p.Seed, lengthStream, row))
		case rows[row].answer != "":
			r.Output = max(1, w.count(rows[row].answer))
		}
		if o.Tokenizer != nil {
			r.Input = w.count(r.Text)
		}
		return nil
	}}, nil
}

// load reads as many rows as the profile requests: the first ones, or any of the file if they are shuffled.
func load(p *profile.Profile, o Options) ([]entry, error) {
	d := &p.Data
	want := d.Rows
	if want == 0 || d.Shuffle {
		want = mostRows
	}
	f, err := os.Open(d.Path)
	if err != nil {
		return nil, fmt.Errorf("data.path: %w; `mlperf-go dataset get%s` shows where public data sets come from", err,
			publicName(d))
	}
	defer f.Close()
	if s, err := f.Stat(); err != nil || s.IsDir() {
		return nil, fmt.Errorf("data.path: %s is a folder; give one file", d.Path)
	}
	c := collector{d: d, keep: keeper(d, o.Tokenizer), want: want}
	form := d.Format
	if d.Kind == profile.ShareGPT {
		form = "sharegpt"
	}
	err = c.read(form, filepath.Ext(d.Path), bufio.NewReaderSize(f, 1<<16))
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("data.path: %s: %w", d.Path, err)
	}
	if len(c.rows) == 0 {
		return nil, fmt.Errorf("data.path: %s has no prompts that fit; %d rows were read", d.Path, c.seen)
	}
	if d.Shuffle {
		swap := func(a, b int) { c.rows[a], c.rows[b] = c.rows[b], c.rows[a] }
		rand.New(rand.NewPCG(p.Seed, chooseStream)).Shuffle(len(c.rows), swap)
	}
	if d.Rows > 0 {
		c.rows = c.rows[:min(len(c.rows), d.Rows)]
	}
	return c.rows, nil
}

// publicName returns the name of the public data set that a profile expects, after a blank; empty: it names none.
func publicName(d *profile.Data) string {
	switch d.Format {
	case "cnn_dailymail", "billsum", "infinity_instruct", "sonnet":
		return " " + string(d.Format)
	}
	if d.Kind == profile.ShareGPT {
		return " sharegpt"
	}
	return ""
}

// keeper returns the filter of the profile's lengths.
func keeper(d *profile.Data, t *tokenizer.Tokenizer) func(*entry) bool {
	if d.Kind != profile.ShareGPT || t == nil {
		return func(*entry) bool { return true }
	}
	within := func(b *profile.Distribution, n float64) bool {
		return b == nil || b.Kind != "uniform" || n >= b.Min && (b.Max == 0 || n <= b.Max)
	}
	return func(e *entry) bool {
		in, out := float64(len(t.Encode(e.prompt, false))), 0.0
		if out = float64(len(t.Encode(e.answer, false))); d.Output != nil && d.Output.Kind == "fixed" {
			out = d.Output.Mean
		}
		return within(d.Input, in) && within(d.Output, out) && (d.MaxTotal == 0 || in+out <= float64(d.MaxTotal))
	}
}

var errEnough = errors.New("enough rows")

type collector struct {
	d     *profile.Data
	keep  func(*entry) bool
	want  int
	seen  int
	bytes int
	rows  []entry
}

func (c *collector) add(e entry) error {
	c.seen++
	if e.prompt == "" || !c.keep(&e) {
		return nil
	}
	if c.bytes += len(e.prompt) + len(e.answer); c.bytes > largestTotal {
		return fmt.Errorf("the prompts have more than %d bytes; set data.rows", largestTotal)
	}
	if c.rows = append(c.rows, e); len(c.rows) == c.want {
		return errEnough
	}
	return nil
}

func (c *collector) read(form profile.Format, suffix string, r *bufio.Reader) error {
	switch {
	case form == "parquet" || suffix == ".parquet":
		return errors.New("convert a Parquet file first: `mlperf-go dataset convert FILE.parquet FILE.jsonl`")
	case form == "visionarena":
		return errors.New("recorded images cannot be sent; use data.images")
	case form == "text" || form == "sonnet" || form == "" && suffix == ".txt":
		if err := checkText(r, "lines of text"); err != nil {
			return err
		}
		return c.text(form == "sonnet", r)
	case form == "csv" || form == "" && suffix == ".csv":
		if err := checkText(r, "CSV"); err != nil {
			return err
		}
		return c.csv(r)
	}
	return c.json(form, r)
}

// checkText rejects contents that are not text, and web pages, which are often the answer of a failed download.
func checkText(r *bufio.Reader, expected string) error {
	head, _ := r.Peek(64) // a shorter file is returned as a whole
	if what, remedy := foreign.TextKind(head); what != "" {
		return fmt.Errorf("found %s, expected %s; %s", what, expected, remedy)
	}
	return nil
}

// text reads a prompt from each line. A sonnet's prompts are lines of the file, drawn until the length is reached.
func (c *collector) text(sonnet bool, r *bufio.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, largestRow)
	var all []string
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if sonnet {
			if all = append(all, line); len(all) == mostRows {
				break
			}
			continue
		}
		if err := c.add(entry{prompt: line}); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil || !sonnet || len(all) == 0 {
		return err
	}
	return c.sonnets(all)
}

// sonnets returns prompts of random lines, the first of which are common to all. A line has about ten tokens
// (vllm/benchmarks/datasets, SonnetDataset draws lines in the same way).
func (c *collector) sonnets(lines []string) error {
	const perLine, most = 10, 1000
	size := 550.0
	if c.d.Input != nil {
		size = c.d.Input.Mean
	}
	total, common := max(1, int(size/perLine)), c.d.Prefix/perLine
	rows := min(c.want, most)
	for i := range rows {
		r := source(0, textStream, i)
		var b strings.Builder
		b.WriteString("Continue these verses:\n")
		for k := range total {
			at := k % len(lines)
			if k >= common {
				at = r.IntN(len(lines))
			}
			b.WriteString(lines[at] + "\n")
		}
		if err := c.add(entry{prompt: b.String()}); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) columns(form profile.Format) (layout, error) {
	l, ok := layouts[form]
	if !ok && form != "sharegpt" {
		return l, fmt.Errorf("no reader for files of format %s", form)
	}
	if n := c.d.SampleColumns; len(n) > 0 {
		l.prompt = n[:1]
		if len(n) > 1 {
			l.answer = n[1:2]
		}
	}
	return l, nil
}

func (c *collector) csv(r *bufio.Reader) error {
	l, _ := c.columns("csv") // a form with columns
	in := csv.NewReader(r)
	in.ReuseRecord, in.LazyQuotes = true, true
	head, err := in.Read()
	if err != nil {
		return fmt.Errorf("the first line is not a heading: %w", err)
	}
	find := func(names []string) int {
		return slices.IndexFunc(head, func(h string) bool {
			return slices.Contains(names, strings.ToLower(strings.TrimSpace(h)))
		})
	}
	prompt, answer := find(l.prompt), find(l.answer)
	if prompt < 0 {
		return fmt.Errorf("no column is called %s; name it in data.columns", strings.Join(l.prompt, ", "))
	}
	for {
		record, err := in.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		e := entry{prompt: record[prompt]}
		if answer >= 0 {
			e.answer = record[answer]
		}
		if err := c.add(e); err != nil {
			return err
		}
	}
}

// json reads an array of objects, or one object after the other.
func (c *collector) json(form profile.Format, r *bufio.Reader) error {
	l, err := c.columns(form)
	if err != nil {
		return err
	}
	head, _ := r.Peek(24) // a shorter file is returned as a whole
	if what, remedy := foreign.Kind(head); what != "" {
		return fmt.Errorf("found %s, expected JSON or JSON Lines; %s", what, remedy)
	}
	bound := &limited{r: r}
	in := json.NewDecoder(bound)
	first, err := firstByte(r)
	if err != nil {
		return errors.New("the file is empty")
	}
	if first == '[' {
		if _, err := in.Token(); err != nil {
			return err
		}
	}
	for n := 1; first != '[' || in.More(); n++ {
		var raw map[string]json.RawMessage
		if err := in.Decode(&raw); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
		bound.row = 0
		if want := c.d.Category; want != "" && text(raw, []string{"category"}) != want {
			c.seen++
			continue
		}
		if err := c.add(entryOf(raw, l)); err != nil {
			return err
		}
	}
	return nil
}

func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.Peek(1)
		if err != nil {
			return 0, err
		}
		if b[0] > ' ' {
			return b[0], nil
		}
		if _, err := r.Discard(1); err != nil {
			return 0, err
		}
	}
}

// limited ends a file with a row that is too large.
type limited struct {
	r   io.Reader
	row int // bytes since the last row
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.row += n; l.row > 2*largestRow {
		return 0, fmt.Errorf("a row is larger than %d bytes", largestRow)
	}
	return n, err
}

// text returns the first text that a row has under one of the names.
func text(raw map[string]json.RawMessage, names []string) (s string) {
	for _, name := range names {
		if json.Unmarshal(raw[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// entryOf returns the prompt and the answer of a row: from its columns, or from the first two turns of its
// conversation. The turns of Spec-Bench and SPEED-Bench are the user's alone, so that only the first is sent (vllm's
// SpecBench and SpeedBench do the same).
func entryOf(raw map[string]json.RawMessage, l layout) entry {
	e := entry{text(raw, l.prompt), text(raw, l.answer)}
	if e.prompt != "" {
		return e
	}
	var questions []string
	if json.Unmarshal(raw["turns"], &questions) == nil && len(questions) > 0 {
		return entry{prompt: questions[0]}
	}
	var turns []struct {
		From    string `json:"from"`
		Value   string `json:"value"`
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	for _, name := range []string{"conversations", "conversation", "messages"} {
		if json.Unmarshal(raw[name], &turns) == nil && len(turns) >= 2 {
			e := entry{prompt: turns[0].Value + turns[0].Content}
			if turns[1].Role != "user" {
				e.answer = turns[1].Value + turns[1].Content
			}
			return e
		}
	}
	if len(turns) == 1 && turns[0].Role == "user" {
		return entry{prompt: turns[0].Content}
	}
	return entry{}
}
