package check

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every metric of a benchmark is required, the bounds themselves pass, and a metric that failed in one line has failed.
func TestScoresAtTheirLimits(t *testing.T) {
	low := targets{{Metric: "ROUGE1", Bound: 38.391408}, {Metric: "GEN_LEN", Bound: 100}}
	high := targets{{Metric: "GEN_LEN", Bound: 200}}
	const hash = "hash=ab"
	for _, c := range []struct {
		name            string
		lines           []string
		low, high, lack []string
		complete        bool
	}{
		{"within", []string{"{'rouge1': '40.0', 'gen_len': 150}", hash}, nil, nil, nil, true},
		{"at the lower edges", []string{"{'rouge1': 38.391408, 'gen_len': 100}", hash}, nil, nil, nil, true},
		{"at the upper edge", []string{"{'rouge1': 40.0, 'gen_len': 200}", hash}, nil, nil, nil, true},
		{"below", []string{"{'rouge1': 38.391407, 'gen_len': 150}", hash}, []string{"ROUGE1"}, nil, nil, false},
		{"length below", []string{"{'rouge1': 40.0, 'gen_len': 99.9}", hash}, []string{"GEN_LEN"}, nil, nil, false},
		{"length above", []string{"{'rouge1': 40.0, 'gen_len': 200.1}", hash}, nil, []string{"GEN_LEN"}, nil, true},
		{"a metric is missing", []string{"{'gen_len': 150}", hash}, nil, nil, []string{"ROUGE1"}, false},
		{"every metric is missing", []string{hash}, nil, nil, []string{"ROUGE1", "GEN_LEN"}, false},
		{"no hash", []string{"{'rouge1': 40.0, 'gen_len': 150}"}, nil, nil, nil, false},
		{"failed and passed", []string{"{'rouge1': 30.0, 'gen_len': 150}", "{'rouge1': 40.0, 'gen_len': 150}", hash},
			[]string{"ROUGE1"}, nil, nil, true},
	} {
		s := &scores{found: map[string]string{}, passed: map[string]bool{}}
		for _, line := range c.lines {
			s.take(line, low, high)
		}
		require.NoError(t, s.err, c.name)
		require.Equal(t, c.low, metricsOf(s.low), c.name)
		require.Equal(t, c.high, metricsOf(s.high), c.name)
		require.Equal(t, c.complete, s.complete(low), c.name)
		var lack []string
		for _, l := range low {
			if _, found := s.found[l.Metric]; !found {
				lack = append(lack, l.Metric)
			}
		}
		require.Equal(t, c.lack, lack, c.name)
	}
}

func metricsOf(list []breach) (names []string) {
	for _, b := range list {
		names = append(names, b.metric)
	}
	return names
}
