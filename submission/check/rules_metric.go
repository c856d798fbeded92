package check

// metricRules look at the figure itself (docs/reference/submission-rules.md#metrics).
var metricRules = []Rule{
	{ID: "metric", Class: Run, Severity: Error, level: resultLevel, when: []condition{anyClient},
		Advice: "repeat the run: LoadGen writes the figure at its end", look: metricThere},
	{ID: "metric-zero", Class: Run, Severity: Error, level: resultLevel, when: []condition{anyClient},
		Advice: "repeat the run: nothing was measured", look: metricZero},
}

func metricThere(s *scope, breach say) {
	if m := s.result.metric; m.err != nil {
		breach(s.result.performance.path, m.key, m.err, "a number")
	}
}

func metricZero(s *scope, breach say) {
	if m := s.result.metric; m.err == nil && !truthy(m.value) {
		breach(s.result.performance.path, m.key, m.value, "more than 0")
	}
}
