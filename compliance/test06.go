package compliance

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
)

// officialEOS is the official script's default end token (docs/reference/audits.md#test06).
const officialEOS = 2

// OfficialEOSOption returns the option -e of the official script for a benchmark, or "" if the script's default is
// right. With the option the end token check always passes, because it compares numbers with text. Without it, the
// script treats id 2 of any model as an end token.
func OfficialEOSOption(row *models.Row) string {
	if len(row.EOS) == 0 || slices.Contains(row.EOS, officialEOS) {
		return ""
	}
	return strconv.Itoa(int(row.EOS[0]))
}

// tokenLog contains the results of TEST06's checks of the accuracy log.
type tokenLog struct {
	*audit
	path    string
	size    int // size of an element in bytes
	samples *samples

	first, eos, length bool
	// number of records whose token_count differs from the answer's length, and number of records whose token_count is
	// half of it
	miscounted, halved int
	died               error // reason why the official script aborts
}

func (a *audit) newTokenLog(path string) (*tokenLog, error) {
	size, err := a.Type.size(Int32)
	return &tokenLog{audit: a, path: path, size: size, samples: newSamples(), first: true, eos: true, length: true}, err
}

// test06 checks end tokens, first tokens and token counts.
func (a *audit) test06() error {
	t, err := a.newTokenLog(a.log(mllog.AccuracyName))
	if err != nil {
		return err
	}
	if _, err = readAccuracy(t.path, t.take); err != nil && unreadable(err) {
		return err
	}
	t.judge(err)
	return nil
}

// judge determines the verdict after the last record. err is the error that ended the log.
func (t *tokenLog) judge(err error) {
	if err == nil {
		err = t.died
	}
	t.samples.check(t.audit, t.path)
	if t.size == sizes[Int32] && t.miscounted > 0 && t.halved == t.miscounted {
		t.out.explain("token_count", t.path, "; every count that differs is half of the answer's length: with --dtype "+
			"int64 the answers are read as 64-bit tokens")
	}
	if err != nil {
		t.out.giveUp(t.path, err)
		return
	}
	t.out.Pass = t.first && t.eos && t.length
	t.out.Files["verify_accuracy.txt"] = t.text()
}

// test06Types are the official script's encodings of different size, its default first.
var test06Types = []DType{Int32, Int64, Int16}

// ReadTest06 reads a submission's accuracy log of TEST06 in each possible encoding. It returns the result with the
// first encoding that passes, or else with the default. It does not check the official script's end token, because no
// file records that option. Findings call the log name.
func ReadTest06(log io.Reader, name string, scenario models.Scenario, row *models.Row) (*Result, DType) {
	asked, _ := audit06("")
	var readings []*tokenLog
	for _, d := range test06Types {
		a := newAudit(Test06, Input{Scenario: scenario, Row: row, Audit: &asked, Type: d, EOSOption: "unknown"})
		t, _ := a.newTokenLog(name) // cannot fail: the encoding is known
		readings = append(readings, t)
	}
	read, err := mllog.ReadAccuracy(log, func(e *mllog.AccuracyEntry) error {
		for _, t := range readings {
			if err := t.take(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && read.Truncated {
		err = fmt.Errorf("it ends after record %d without its closing bracket", read.Records)
	}
	for _, t := range readings {
		if t.judge(err); t.out.Pass {
			return t.out, t.Type
		}
	}
	return readings[0].out, readings[0].Type
}

func (t *tokenLog) skipsFirst() bool { return t.Scenario == models.Offline }

func (t *tokenLog) text() string {
	first, end := pyBool(t.first), "failed"
	if t.skipsFirst() {
		first = "Skipped"
	}
	if t.out.Pass {
		end = "complete"
	}
	return fmt.Sprintf("First token check pass: %s\nEOS check pass: %s\nSample length check pass: %s\nTEST06 "+
		"verification %s\n",
		first, pyBool(t.eos), pyBool(t.length), end)
}

func (t *tokenLog) take(e *mllog.AccuracyEntry) error {
	t.samples.take(t.audit, t.path, e.SeqID, e.QSLIdx)
	if len(e.Data)%t.size != 0 {
		t.eos = false
		t.firstFails()
		t.die(fmt.Errorf("record %d has %d bytes, which is not a multiple of the size of %s", e.Record, len(e.Data), t.Type))
		return nil
	}
	tokens := len(e.Data) / t.size
	t.takeEnd(e)
	if !t.skipsFirst() {
		t.takeFirst(e)
	}
	switch {
	case !e.HasTokens:
		t.die(fmt.Errorf("record %d has no token_count: the run was made without token latencies", e.Record))
	case e.TokenCount != int64(tokens):
		t.length = false
		t.miscounted++
		if int64(tokens) == 2*e.TokenCount {
			t.halved++
		}
		t.out.add(Fatal, "token_count", t.path, "record %d has token_count %d, but its answer has %d tokens", e.Record,
			e.TokenCount,
			tokens)
	}
	t.strictTokens(e, tokens)
	return nil
}

// die keeps the first error. The official length check ends at its first difference and never sees later records.
func (t *tokenLog) die(err error) {
	if t.died == nil && t.length {
		t.died = err
	}
	t.out.add(Fatal, "record_broken", t.path, "%v", err)
}

func (t *tokenLog) firstFails() {
	if !t.skipsFirst() {
		t.first = false
	}
}

// takeEnd fails on two consecutive end tokens at the end, not counting the first token. The official script treats an
// id from its option as text, which equals no token.
func (t *tokenLog) takeEnd(e *mllog.AccuracyEntry) {
	if t.EOSOption != "" {
		return
	}
	if n := t.trailing(e.Data[min(t.size, len(e.Data)):], func(id float64) bool { return id == officialEOS }); n >= 2 {
		t.eos = false
		t.out.add(Fatal, "eos_official", t.path, "record %d ends with %d tokens of id %d, which the official script regards "+
			"as the end token", e.Record, n, officialEOS)
	}
}

// trailing counts the elements at the end of data for which the function is returns true.
func (t *tokenLog) trailing(data []byte, is func(id float64) bool) int {
	n := 0
	for end := len(data); end >= t.size && is(t.Type.value(data[end-t.size:end])); end -= t.size {
		n++
	}
	return n
}

func (t *tokenLog) takeFirst(e *mllog.AccuracyEntry) {
	switch {
	case len(e.TokenData) == 0:
		t.out.add(Fatal, "first_token_missing", t.path, "record %d has no first token to compare, which %s needs", e.Record,
			t.Scenario)
		if e.TokenData == nil {
			t.first = false
		}
		return
	case len(e.TokenData)%t.size != 0:
		t.first = false
		t.out.add(Fatal, "record_broken", t.path, "record %d has %d bytes of first tokens, which is not a multiple of the "+
			"size of %s", e.Record, len(e.TokenData), t.Type)
		return
	case len(e.TokenData) > len(e.Data):
		t.out.add(Fatal, "first_token_differs", t.path, "record %d reports more first tokens than its answer has", e.Record)
	}
	for at := 0; at < min(len(e.Data), len(e.TokenData)); at += t.size {
		if !t.Type.equal(e.Data[at:at+t.size], e.TokenData[at:at+t.size]) {
			t.first = false
			t.out.add(Fatal, "first_token_differs", t.path, "the reported token %[2]d of record %[1]d differs from its answer",
				e.Record, at/t.size)
			return
		}
	}
}

// strictTokens checks an answer against the model's own end tokens and vocabulary.
func (t *tokenLog) strictTokens(e *mllog.AccuracyEntry, tokens int) {
	if tokens == 0 {
		t.out.add(Fatal, "empty_output", t.path, "record %d is an empty answer", e.Record)
		return
	}
	if t.Row == nil {
		return
	}
	n := t.trailing(e.Data, t.isEOS)
	if n >= 2 {
		t.out.add(Fatal, "eos_repeated", t.path, "record %d ends with %d end tokens of %s; one is allowed", e.Record, n,
			t.Row.Name)
	}
	inside := 0
	for at := 0; at < len(e.Data)-n*t.size; at += t.size {
		id := t.Type.value(e.Data[at:])
		if t.isEOS(id) {
			inside++
		}
		if id < 0 || t.Row.Vocabulary > 0 && id >= float64(t.Row.Vocabulary) {
			t.out.add(Fatal, "token_range", t.path, "record %d has %v, expected a token id below %d: is the answer "+
				"encoded as %s?", e.Record, id, t.Row.Vocabulary, t.Type)
			break
		}
	}
	if inside > 0 {
		t.out.add(Warning, "eos_inside", t.path, "record %d goes on after an end token of %s, so its length counts more "+
			"than the answer", e.Record, t.Row.Name)
	}
}

func (t *tokenLog) isEOS(id float64) bool {
	return slices.ContainsFunc(t.Row.EOS, func(e int32) bool { return float64(e) == id })
}
