package ledger

import "math"

// Times are the durations of one sample in seconds. NaN: the sample has no such duration.
type Times struct {
	TTFT, TPOT, E2E, NTPOT float64 // latencies of a successful sample
	IssueLag               float64 // time from scheduled to issued
	DispatchLag            float64 // time from scheduled to sent
	ReportLag              float64 // from the earliest arrival of the last token to its report
}

// TimesOf returns the durations of e. due is the wall-clock time in ns at which e was due.
func TimesOf(e *Entry, due int64) Times {
	whole := func(of nsOf) float64 {
		if ns, ok := of(e, due); ok {
			return seconds(ns)
		}
		return math.NaN()
	}
	quotient := func(of secondsOf) float64 {
		if s, ok := of(e, due); ok {
			return s
		}
		return math.NaN()
	}
	return Times{TTFT: whole(ttft), TPOT: quotient(tpot), E2E: whole(e2e), NTPOT: quotient(ntpot),
		IssueLag: whole(issueLag), DispatchLag: whole(dispatchLag), ReportLag: whole(reportLag)}
}

// nsOf returns one duration of a sample in ns; ok is false if the sample has none.
type nsOf func(e *Entry, due int64) (ns int64, ok bool)

// secondsOf returns one duration of a sample in seconds; ok is false if the sample has none.
type secondsOf func(e *Entry, due int64) (s float64, ok bool)

func issueLag(e *Entry, due int64) (int64, bool) { return e.IssuedNS - due, true }

func dispatchLag(e *Entry, due int64) (int64, bool) { return e.SentNS - due, e.SentNS != 0 }

func reportLag(e *Entry, _ int64) (int64, bool) {
	readable := e.ReadableNS
	if readable == 0 {
		readable = e.LastTokenNS
	}
	return e.DoneNS - readable, e.LastTokenNS != 0 && e.DoneNS != 0
}

func e2e(e *Entry, due int64) (int64, bool) { return e.DoneNS - due, e.Succeeded() }

func ttft(e *Entry, due int64) (int64, bool) {
	return e.FirstTokenNS - due, e.Succeeded() && e.FirstTokenNS != 0
}

func tpot(e *Entry, _ int64) (float64, bool) {
	if !e.Succeeded() || e.FirstTokenNS == 0 || e.OutputTokens <= 1 {
		return 0, false
	}
	last := e.LastTokenNS
	if last == 0 {
		last = e.DoneNS
	}
	return seconds(last-e.FirstTokenNS) / float64(e.OutputTokens-1), true
}

func ntpot(e *Entry, due int64) (float64, bool) {
	if !e.Succeeded() || e.OutputTokens <= 0 {
		return 0, false
	}
	return seconds(e.DoneNS-due) / float64(e.OutputTokens), true
}

func seconds(ns int64) float64 { return float64(ns) / nsPerS }
