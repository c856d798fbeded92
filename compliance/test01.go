package compliance

import (
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
	"github.com/mlperf-go/mlperf-go/models"
)

// test01 compares logged answers with the accuracy run's, and the speed with the performance run's.
func (a *audit) test01() error {
	accurate, err := a.answers01()
	if err != nil {
		return err
	}
	fast, err := a.speed01()
	if err != nil {
		return err
	}
	a.out.Pass = accurate && fast
	return nil
}

// maxAnswers is the maximum number of samples of an accuracy run that are kept. Each takes about 100 bytes.
const maxAnswers = 1 << 22

// answer contains the kept data of an answer. The official script compares only the first element.
type answer struct {
	head [8]byte
	size int
	sum  uint64 // hash of all bytes
}

type answerLog struct {
	*audit
	size  int // size of an element in bytes
	seed  maphash.Seed
	known map[int64]answer

	entries, duplicates, duplicatesDiffer int
	logged, matched, differ, missing      int
	partly                                int // number of matched answers that are equal only in the first element
}

func (l *answerLog) answer(data []byte) answer {
	k := answer{size: len(data), sum: maphash.Bytes(l.seed, data)}
	copy(k.head[:], data)
	return k
}

func (a *audit) answers01() (pass bool, err error) {
	size, err := a.Type.size(Byte)
	if err != nil {
		return false, err
	}
	l := &answerLog{audit: a, size: size, seed: maphash.MakeSeed(), known: map[int64]answer{}}
	for _, part := range []struct {
		folder string
		take   func(*mllog.AccuracyEntry) error
	}{{a.ReferenceAccuracy, l.reference}, {a.Compliance, l.compare}} {
		path := joined(part.folder, mllog.AccuracyName)
		if _, err := readAccuracy(path, part.take); err != nil {
			if unreadable(err) {
				return false, err
			}
			a.out.giveUp(path, err)
			return false, nil
		}
	}
	pass = l.differ == 0 && l.matched > 0
	a.out.Files["verify_accuracy.txt"] = l.text(pass)
	a.out.Figures["records"], a.out.Figures["mismatches"] = l.logged, l.differ
	l.strict()
	return pass, nil
}

func (l *answerLog) reference(e *mllog.AccuracyEntry) error {
	l.entries++
	k := l.answer(e.Data)
	if earlier, twice := l.known[e.QSLIdx]; twice {
		l.duplicates++
		if earlier != k {
			l.duplicatesDiffer++
		}
		return nil
	}
	if len(l.known) == maxAnswers {
		return fmt.Errorf("it has more than %d samples", maxAnswers)
	}
	l.known[e.QSLIdx] = k
	return nil
}

// compare also stores each answer, so that a repeated sample is compared with its first answer.
func (l *answerLog) compare(e *mllog.AccuracyEntry) error {
	l.logged++
	k := l.answer(e.Data)
	ref, found := l.known[e.QSLIdx]
	if !found {
		l.missing++
		if len(l.known) == maxAnswers {
			return fmt.Errorf("it and the accuracy run have more than %d samples", maxAnswers)
		}
	}
	for _, n := range []int{k.size, ref.size} {
		if n%l.size != 0 {
			return fmt.Errorf("sample %d has %d bytes, which is not a multiple of the size of %s", e.QSLIdx, n, l.Type)
		}
	}
	l.known[e.QSLIdx] = k
	if !found {
		return nil
	}
	l.matched++
	switch {
	case k.size == 0 && ref.size == 0:
	case k.size == 0 || ref.size == 0 || !l.Type.equal(k.head[:], ref.head[:]):
		l.differ++
		l.out.add(Fatal, "answer_differs", l.log(mllog.AccuracyName),
			"sample %d (record %d) has another answer than in the accuracy run", e.QSLIdx, e.Record)
	case k != ref:
		l.partly++
	}
	return nil
}

func (l *answerLog) text(pass bool) string {
	var b strings.Builder
	b.WriteString("Verifying accuracy. This might take a while...\nReading accuracy mode results...\nReading " +
		"performance mode results...\n")
	for _, n := range []struct {
		name string
		n    int
	}{
		{"num_acc_log_entries", l.entries}, {"num_acc_log_duplicate_keys", l.duplicates},
		{"num_acc_log_data_mismatch", l.duplicatesDiffer},
		{"num_perf_log_entries", l.logged}, {"num_perf_log_qsl_idx_match", l.matched},
		{"num_perf_log_data_mismatch", l.differ},
		{"num_missing_qsl_idxs", l.missing},
	} {
		fmt.Fprintf(&b, "%s = %d\n", n.name, n.n)
	}
	b.WriteString(verdict(pass) + "\n\n")
	return b.String()
}

func verdict(pass bool) string {
	if pass {
		return "TEST PASS"
	}
	return "TEST FAIL"
}

func (l *answerLog) strict() {
	path := l.log(mllog.AccuracyName)
	if l.logged == 0 {
		l.out.add(Fatal, "no_records", path, "the accuracy log has no record, so nothing was verified")
	}
	if l.missing > 0 {
		l.out.add(Fatal, "sample_unknown", path, "%s not in the accuracy run",
			plural.Count(l.missing, "logged sample is", "logged samples are"))
	}
	if l.duplicatesDiffer > 0 {
		l.out.add(Fatal, "answer_differs", joined(l.ReferenceAccuracy, mllog.AccuracyName),
			"%s two different answers in the accuracy run",
			plural.Count(l.duplicatesDiffer, "sample has", "samples have"))
	}
	if l.partly > 0 {
		l.out.add(Warning, "answer_partly", path, "%s element alone (%s), which is all that the official script compares",
			plural.Count(l.partly, "answer equals the accuracy run's in its first",
				"answers equal the accuracy run's in their first"), l.Type)
	}
}

// scoreKeys maps a scenario to the key of its score in a detail log.
var scoreKeys = map[string]string{
	string(models.Offline):      "result_samples_per_second",
	string(models.Server):       "result_completed_samples_per_sec",
	string(models.SingleStream): "early_stopping_latency_ss",
	"MultiStream":               "early_stopping_latency_ms",
}

// score is a run's speed as its detail log contains it.
type score struct {
	scenario string
	value    float64
	latency  string // Server: target latency as logged
	valid    bool
}

// score returns an error if the official script would end with a stack trace.
func (d *detail) score() (score, error) {
	if d.log.Broken > 0 {
		return score{}, fmt.Errorf("line %d cannot be read", d.log.FirstBroken)
	}
	s := score{scenario: d.first["effective_scenario"], valid: d.first["result_validity"] == "VALID"}
	key, ok := scoreKeys[s.scenario]
	if !ok {
		return s, fmt.Errorf("effective_scenario is %.40q", s.scenario)
	}
	text, ok := d.first[key]
	if !ok {
		return s, fmt.Errorf("there is no %s, which %s needs", key, s.scenario)
	}
	var err error
	if s.value, err = pyrepr.ParseFloat(text); err != nil {
		return s, fmt.Errorf("%s: %w", key, err)
	}
	if s.valid && d.errors > 0 {
		return s, fmt.Errorf("LoadGen logged %s, the first: %.200s", plural.Count(d.errors, "error", "errors"), d.error)
	}
	if s.scenario == string(models.Server) {
		if s.latency, ok = d.first["effective_target_latency_ns"]; !ok {
			return s, fmt.Errorf("there is no effective_target_latency_ns, which Server needs")
		}
	}
	return s, nil
}

// speed01 compares the speeds and writes the text that the official script prints, with time stamps.
func (a *audit) speed01() (pass bool, err error) {
	const name = "verify_performance.txt"
	text := "Verifying performance.\n"
	var scores [2]score
	for i, folder := range []string{a.ReferencePerformance, a.Compliance} {
		path := joined(folder, mllog.DetailName)
		d, err := a.readDetail(path)
		if err == nil {
			scores[i], err = d.score()
		}
		if err != nil {
			if unreadable(err) {
				return false, err
			}
			a.out.giveUp(path, err)
			return false, nil
		}
		text += logLine(a.Now, path)
		if !scores[i].valid {
			a.out.Files[name] = text + "TEST FAIL: Invalid results in " + path + "\n"
			a.out.add(Fatal, "run_invalid", path, "LoadGen calls the run invalid")
			return false, nil
		}
	}
	rest, pass := compareScores(scores[0], scores[1])
	a.out.Files[name] = text + rest
	a.out.figure("reference_score", scores[0].value)
	a.out.figure("score", scores[1].value)
	if !pass {
		a.out.add(Fatal, "speed_differs", a.log(mllog.DetailName), "%s", strings.TrimSpace(rest))
	}
	return pass, nil
}

// logLine is a line of the official log reader, at the given local time.
func logLine(at time.Time, path string) string {
	return fmt.Sprintf("[%s log_parser.py:72 INFO] Sucessfully loaded MLPerf log from %s.\n",
		strings.Replace(at.Format("2006-01-02 15:04:05.000"), ".", ",", 1), path)
}

func compareScores(ref, test score) (text string, pass bool) {
	switch {
	case ref.scenario != test.scenario:
		return "TEST FAIL: Test and reference scenarios do not match!\n", false
	case ref.latency != test.latency:
		return "TEST FAIL: Server target latency mismatch\n", false
	}
	share := tolerance(ref.scenario, ref.value)
	low, high := ref.value*(1-share), ref.value*(1+share)
	text = "Reference score = " + pyrepr.Float(ref.value) + "\nTest score = " + pyrepr.Float(test.value) + "\n"
	if low <= test.value && test.value <= high {
		return text + "TEST PASS\n", true
	}
	return text + "TEST FAIL: Test score invalid\n", false
}

// tolerance returns the allowed deviation of a score. It is larger for very short latencies, which the operating system
// disturbs.
func tolerance(scenario string, ref float64) float64 {
	if scenario == string(models.SingleStream) && ref <= 200_000 || scenario == "MultiStream" && ref <= 1_600_000 {
		return 0.20
	}
	return 0.10
}

// joined returns a path as the official scripts print it.
func joined(folder, name string) string {
	return strings.TrimSuffix(folder, "/") + "/" + name
}
