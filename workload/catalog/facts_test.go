package catalog

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/dialect"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// factsFile lists the figures of the profiles of llm-d-benchmark. It is beside the repository, not in it.
var factsFile = filepath.Join("..", "..", "..", "shared", "spec", "workloads.md")

// facts returns the chapter about predefined profiles.
func facts(t *testing.T) string {
	text, err := os.ReadFile(factsFile)
	if err != nil {
		t.Skipf("the facts about the profiles are not here: %v", err)
	}
	_, chapter, found := strings.Cut(string(text), "\n### 2.4 ")
	require.True(t, found)
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	return chapter
}

var (
	aRange   = regexp.MustCompile(`(\d+)…(\d+) step (\d+)`)
	aside    = regexp.MustCompile(`\([^)]*\)`)
	someLoad = regexp.MustCompile(`([\d.]+(?:,[\d.]+)*)(?: qps)?\s*[×/]\s*(\d+)`)
	eachLoad = regexp.MustCompile(`([\d.]+(?:,[\d.]+)*), (\d+) each`)
	aNumber  = regexp.MustCompile(`\d+(?:\.\d+)?(?: k\b)?`)
	aChoice  = regexp.MustCompile(`(\S+) / (\S+[^,\s])`)
)

// step is a stage: a rate with seconds, or requests in flight with their number.
type step struct{ of, length float64 }

// steps reads the stages of a cell, such as "poisson 15×50,3×20", "constant 1,2 × 120 s" or "concurrent 2/64".
func steps(t *testing.T, cell string) (list []step) {
	cell = aRange.ReplaceAllStringFunc(aside.ReplaceAllString(cell, ""), func(s string) string {
		m := aRange.FindStringSubmatch(s)
		var all []string
		for v := number(t, m[1]); v <= number(t, m[2]); v += number(t, m[3]) {
			all = append(all, strconv.FormatFloat(v, 'g', -1, 64))
		}
		return strings.Join(all, ",")
	})
	pattern := someLoad
	if eachLoad.MatchString(cell) {
		pattern = eachLoad
	}
	for _, m := range pattern.FindAllStringSubmatch(cell, -1) {
		for _, of := range strings.Split(m[1], ",") {
			list = append(list, step{number(t, of), number(t, m[2])})
		}
	}
	return list
}

func number(t *testing.T, text string) float64 {
	text, thousands := strings.CutSuffix(text, " k")
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	if thousands {
		v *= 1000
	}
	return v
}

// totalCount is how many lengths inference-perf draws, which changes no request.
var totalCount = regexp.MustCompile(`, (?:total_count )?\d+ *$`)

// numbers returns the numbers in a text.
func numbers(t *testing.T, text string) (list []float64) {
	for _, n := range aNumber.FindAllString(text, -1) {
		list = append(list, number(t, n))
	}
	return list
}

// stagesOf returns the stages of a profile without its warm-up.
func stagesOf(p *profile.Profile) (list []step) {
	for _, s := range p.Load.Stages {
		if one := (step{s.Rate, s.Duration.Seconds()}); s.Concurrency > 0 {
			list = append(list, step{float64(s.Concurrency), float64(s.Requests)})
		} else if !s.Warmup {
			list = append(list, one)
		}
	}
	return list
}

func shipped(t *testing.T, harness, name string) (*profile.Profile, string) {
	f, err := Find(harness, name)
	require.NoError(t, err)
	p, err := f.Read(dialect.Options{})
	require.NoError(t, err)
	text, err := os.ReadFile("../../configs/profiles/" + harness + "/" + f.Name + ".yaml")
	require.NoError(t, err)
	return p, string(text)
}

// The stages of each profile of inference-perf are those of its row in the facts, and its data has every number there.
func TestProfilesHaveTheFiguresOfTheFacts(t *testing.T) {
	load, data, rows := "", "", 0
	for line := range strings.Lines(facts(t)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || strings.Contains(cells[1], "Profile") {
			continue
		}
		name := strings.TrimSpace(cells[1])
		if !strings.HasPrefix(cells[2], " same") && !strings.HasPrefix(cells[2], " +") {
			load = cells[2]
		}
		if !strings.HasPrefix(cells[3], " same") {
			data = cells[3]
		}
		for i, name := range namesOf(name) {
			if strings.Contains(load, "trace") || strings.Contains(data, "broken") {
				continue // their figures are those of the recording, or unknown
			}
			rows++
			p, text := shipped(t, "inference-perf", name)
			own, of := load, data
			if parts := strings.Split(load, " / "); strings.Contains(cells[1], " / ") {
				own, of = parts[i], aChoice.ReplaceAllString(data, "$"+strconv.Itoa(i+1))
			}
			assert.Equal(t, steps(t, own), stagesOf(p), "%s: stages", name)
			_, text, _ = strings.Cut(text, "\ndata:")
			text, _, _ = strings.Cut(text, "\nload:")
			of = totalCount.ReplaceAllString(strings.ReplaceAll(of, "720p", ""), "")
			for _, n := range numbers(t, of) {
				assert.Contains(t, numbers(t, text), n, "%s: data %s", name, of)
			}
		}
	}
	require.GreaterOrEqual(t, rows, 22)
}

// namesOf returns the profiles of a row.
func namesOf(cell string) []string {
	switch first, suffix, several := strings.Cut(cell, " / _"); {
	case several:
		return []string{first, first[:strings.LastIndexByte(first, '_')+1] + suffix}
	case strings.HasSuffix(cell, " (seed)"):
		return []string{"sanity_random_seed"}
	}
	return strings.Split(strings.TrimSuffix(cell, " (now)"), ", ")
}

// Each number that the facts list beside a profile of another harness is in that profile.
func TestOtherProfilesHaveTheNumbersOfTheFacts(t *testing.T) {
	_, others, found := strings.Cut(facts(t), "\nOthers: ")
	require.True(t, found)
	others = strings.ReplaceAll(others, " / `sanity_sharegpt`", "") // its prompts are recorded chats
	begins := regexp.MustCompile("^([a-z-]+) [`(]")
	beside := regexp.MustCompile("`([\\w-]+)`,? \\(([^)]*)\\)")
	harness, checked := "", 0
	for _, line := range strings.Split(others, "\n") {
		for _, part := range strings.SplitAfter(line, ". ") {
			if m := begins.FindStringSubmatch(part); m != nil {
				harness = m[1]
			}
			if !slices.Contains([]string{"guidellm", "vllm-benchmark", "fmperf", "aiperf", "inferencemax"}, harness) {
				continue
			}
			for _, m := range beside.FindAllStringSubmatch(part, -1) {
				_, text := shipped(t, harness, m[1])
				for _, n := range numbers(t, strings.ReplaceAll(m[2], "×10 requests", "")) { // of the streams
					assert.Contains(t, numbers(t, text), n, "%s %s: %s", harness, m[1], m[2])
					checked++
				}
			}
		}
	}
	require.Greater(t, checked, 30)
}
