package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// truthful returns the record of a test with 3 good answers of 4 tokens, one answer that was cut, and its servers' log.
func truthful() *judge {
	t := &trial{scenario: scenario{Requests: 4, Shape: sessions}, exit: 1}
	at := time.Unix(1, 0)
	t.log.entries = []*entry{
		{Tokens: 4, Whole: true, At: at, HTTP: 1, Session: "a", Mark: "zq1z"},
		{Tokens: 4, Whole: true, At: at, HTTP: 1, Session: "b", Mark: "zq2z"},
		{Tokens: 4, Whole: true, At: at, HTTP: 1, Session: "a", Mark: "zq3z", Before: []string{"zq1z"}},
		{Tokens: 4, Fault: "cut", HTTP: 1, Session: "a", Mark: "zq4z", Before: []string{"zq1z", "zq3z"}},
	}
	j := &judge{trial: t}
	j.record.Verdict = "INVALID"
	n := &j.record.Figures.Total.Requests
	n.Total, n.OK, n.Failed, n.ByCause = 4, 3, 1, map[string]int{"truncated": 1}
	j.record.Figures.Total.Tokens.Output = 12
	return j
}

// TestTheJudgeNoticesFalseRecords changes one fact of a truthful record at a time.
func TestTheJudgeNoticesFalseRecords(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*judge)
		want   string // empty: it is truthful
	}{
		"nothing":        {func(*judge) {}, ""},
		"false VALID":    {func(j *judge) { j.record.Verdict, j.exit = "VALID", 0 }, "false VALID: 3 of 4"},
		"exit code":      {func(j *judge) { j.exit = 0 }, "exit code 0 of a run that is INVALID"},
		"an answer more": {func(j *judge) { j.record.Figures.Total.Requests.OK++ }, "4 requests are OK, and the servers"},
		"an answer less": {func(j *judge) { j.record.Figures.Total.Requests.OK-- }, "2 requests are OK, and the servers"},
		"tokens":         {func(j *judge) { j.record.Figures.Total.Tokens.Output++ }, "13 output tokens"},
		"a lost request": {func(j *judge) { j.Requests, j.Shape = j.Requests+1, conversations }, "the profile has 5"},
		"another cause": {func(j *judge) {
			j.record.Figures.Total.Requests.ByCause = map[string]int{"wrong_model": 1}
		}, "no fault explains it"},
		"a cause less": {func(j *judge) { j.record.Figures.Total.Requests.ByCause = nil }, "1 failures, and 0 by cause"},
		"no signal":    {func(j *judge) { j.record.Verdict, j.exit = "INTERRUPTED", 130 }, "without a signal"},
		"another's answer": {func(j *judge) { j.log.entries[2].Before[0] = "zq2z" },
			`session "a" has the answers [zq2z], and the session had [zq1z]`},
		"a forgotten answer": {func(j *judge) { j.log.entries[3].Before = nil },
			"has the answers [], and the session had [zq1z"},
		"death during a handshake": {func(j *judge) {
			j.Event, j.TLS = "server dies", true
			j.record.Figures.Total.Requests.ByCause = map[string]int{"tls": 1}
		}, ""},
		"handshake without TLS": {func(j *judge) {
			j.Event = "server dies"
			j.record.Figures.Total.Requests.ByCause = map[string]int{"tls": 1}
		}, "no fault explains it"},
		"a busy machine": {func(j *judge) { // the servers wrote an answer that came too late
			j.record.Figures.Total.Requests.ByCause = map[string]int{"timeout_request": 2, "truncated": 1}
			j.record.Figures.Total.Requests.OK, j.record.Figures.Total.Requests.Failed = 1, 3
			j.record.Figures.Total.Tokens.Output = 4
			j.log.entries = append(j.log.entries, &entry{Fault: "silence", HTTP: 1, Session: "c"})
		}, ""},
		"no session":          {func(j *judge) { j.log.entries[3].Session = "" }, `of session ""`},
		"another protocol":    {func(j *judge) { j.HTTP2 = true }, "HTTP/1 instead of HTTP/2"},
		"sessions that ended": {func(j *judge) { j.Requests = 9 }, ""},
		"an unknown state":    {func(j *judge) { j.record.Verdict = "" }, `the verdict is ""`},
	} {
		t.Run(what, func(t *testing.T) {
			j := truthful()
			c.change(j)
			j.exitCode()
			j.counts()
			j.verdict()
			j.requests()
			if c.want == "" {
				require.Empty(t, j.violations)
				return
			}
			require.NotEmpty(t, j.violations)
			require.Contains(t, strings.Join(j.violations, "\n"), c.want)
		})
	}
}

// The same seed draws the same test, and every fault, event, shape and protocol is drawn.
func TestDraw(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(500) {
		s := draw(seed)
		require.Equal(t, s, draw(seed))
		seen[s.Event] = true
		seen[fmt.Sprintf("%s%s%t %t", s.Shape, s.API, s.TLS, s.HTTP2)] = true
		for _, f := range s.Faults {
			seen[f] = true
		}
	}
	for _, f := range faults {
		require.True(t, seen[f.name], f.name)
	}
	for _, e := range events {
		require.True(t, seen[e], e)
	}
	for _, shape := range []string{"singlecompletions", "conversationscompletions", "conversationschat", "sessionschat"} {
		for _, protocol := range []string{"false false", "true false", "true true"} {
			require.True(t, seen[shape+protocol], shape+protocol)
		}
	}
}
