package check

// metricRules check the performance figure (docs/reference/submission-rules.md#metrics).
var metricRules = atLevel(resultLevel,
	Rule{ID: "metric", Class: Run, when: []condition{anyClient}, check: metricThere,
		Advice: "repeat the run: LoadGen writes the figure at its end"},
	Rule{ID: "metric-zero", Class: Run, when: []condition{anyClient}, check: metricZero,
		Advice: "repeat the run: nothing was measured"},
)

func metricThere(s *scope, breach breachFunc) {
	if m := s.result.metric; m.err != nil {
		breach(s.result.performance.path, m.key, m.err, "a number")
	}
}

func metricZero(s *scope, breach breachFunc) {
	if m := s.result.metric; m.err == nil && !truthy(m.value) {
		breach(s.result.performance.path, m.key, m.value, "more than 0")
	}
}
