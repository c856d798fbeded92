package peers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// perfSession is the requests of a session within a part of the run.
type perfSession struct {
	id       int
	requests []*Request
}

// sessionsOf returns the sessions of requests in the order of their numbers; none if the log has no sessions.
func sessionsOf(requests []*Request) []*perfSession {
	byID := map[int]*perfSession{}
	for _, r := range requests {
		if r.Session == 0 {
			continue
		}
		s := byID[r.Session]
		if s == nil {
			s = &perfSession{id: r.Session}
			byID[r.Session] = s
		}
		s.requests = append(s.requests, r)
	}
	list := slices.Collect(maps.Values(byID))
	ordering.Sort(list, func(a, b *perfSession) int { return cmp.Compare(a.id, b.id) })
	return list
}

func (s *perfSession) name() string { return fmt.Sprintf("session-%d", s.id) }

// failure returns the first failed request; nil: the session succeeded.
func (s *perfSession) failure() *Request {
	i := slices.IndexFunc(s.requests, func(r *Request) bool { return !r.ok() })
	if i < 0 {
		return nil
	}
	return s.requests[i]
}

func (s *perfSession) count(is func(*Request) bool) (n int) {
	for _, r := range s.requests {
		if is(r) {
			n++
		}
	}
	return n
}

// cacheOf returns the sum of cached tokens, and of all tokens of the same prompts; nil: no server reported any.
func cacheOf(requests []*Request) (cached, of *int) {
	for _, r := range requests {
		if !r.HasCached {
			continue
		}
		if cached == nil {
			cached, of = new(int), new(int)
		}
		*cached += r.CachedTokens
		*of += r.InputTokens
	}
	return cached, of
}

// perfError returns the cause of a failure as inference-perf divides it; null: none.
func perfError(r *Request) any {
	if r == nil || r.ok() {
		return nil
	}
	kind := cmp.Or(r.Failure, cancelled)
	if status, ok := strings.CutPrefix(kind, "http_"); ok {
		kind = "HTTP Error " + status
	}
	return object{{"error_type", kind}, {"error_msg", cmp.Or(r.Failure, cancelled)}}
}

// noUserFacing is inference-perf's reason for a session without a time to first user token: no call of a log is marked
// as one whose answer a user reads.
const noUserFacing = "no_user_facing"

// sessionEntry returns a session as an item of the file of sessions.
func (p *perf) sessionEntry(s *perfSession) object {
	start, end := extent(s.requests)
	input, output := perfTokens(s.requests)
	cached, cacheable := cacheOf(s.requests)
	o := object{{"session_id", s.name()}, {"stage_id", p.number(s.requests[0].Stage)}, {"file_path", ""},
		{"start_time", seconds(start)}, {"end_time", seconds(end)}, {"duration_sec", seconds(end - start)},
		{"num_events", len(s.requests)}, {"num_events_completed", s.count((*Request).ok)},
		{"num_events_cancelled", s.count((*Request).incomplete)}, {"n_recorded_substitutions", nil},
		{"recorded_substitution_event_ids", nil}}
	if attempts, recovered := s.retries(); attempts > 0 {
		o.add("retries_attempted", attempts)
		o.add("retries_recovered", recovered)
	}
	return append(o, object{{"success", s.failure() == nil}, {"error", perfError(s.failure())},
		{"total_input_tokens", input}, {"total_output_tokens", output}, {"total_cached_tokens", cached},
		{"total_cacheable_input_tokens", cacheable}, {"user_facing_event_ids", nil}, {"num_structured_output_excluded", nil},
		{"tfut_sec", nil}, {"tfut_none_reason", noUserFacing}}...)
}

func (s *perfSession) retries() (attempts, recovered int) {
	for _, r := range s.requests {
		attempts += r.Retries
		if r.isRepeated() && r.ok() {
			recovered++
		}
	}
	return attempts, recovered
}

// sessions returns the report of the sessions of a part (ReportGenerator.summarize_sessions). A call that was never
// sent because an earlier one failed is no event here.
func (p *perf) sessions(list []*perfSession, part *perfPart) object {
	start, end := extent(part.requests)
	failed, events, done, stopped, retried, attempts, recovered := 0, 0, 0, 0, 0, 0, 0
	causes := map[string][]string{}
	for _, s := range list {
		if r := s.failure(); r != nil {
			failed++
			kind := perfError(r).(object)[0].value.(string)
			causes[kind] = append(causes[kind], s.name())
		}
		events += len(s.requests)
		done += s.count((*Request).ok)
		stopped += s.count((*Request).incomplete)
		if a, ok := s.retries(); a > 0 {
			retried, attempts, recovered = retried+1, attempts+a, recovered+ok
		}
	}
	var o object
	if part.load != nil {
		o.add("stage_metadata", p.stageOf(part, seconds(end-start)))
	}
	o = append(o, object{{"num_sessions", len(list)}, {"num_sessions_succeeded", len(list) - failed},
		{"num_sessions_failed", failed}, {"failures", object{{"count", failed}, {"by_label", perfSessionLabels(causes)}}},
		{"total_events", events}, {"total_events_completed", done}, {"total_events_cancelled", stopped},
		{"sessions_with_recorded_substitution", 0},
		{"total_recorded_substitutions", object{{"count", 0}, {"messages", []object{}}}}}...)
	if retried > 0 {
		o = append(o, object{{"sessions_with_retries", retried}, {"total_retry_attempts", attempts},
			{"total_retries_recovered", recovered}}...)
	}
	return append(o, p.sessionStats(list, part)...)
}

// sessionStats returns the distributions over the sessions of a part.
func (p *perf) sessionStats(list []*perfSession, part *perfPart) object {
	values := func(of func(*perfSession) (float64, bool)) any {
		var s sample
		for i := range list {
			if v, ok := of(list[i]); ok {
				s = append(s, v)
			}
		}
		slices.Sort(s)
		return p.stats(s)
	}
	cache := func(of func(cached, all float64) float64) func(*perfSession) (float64, bool) {
		return func(s *perfSession) (float64, bool) {
			cached, all := cacheOf(s.requests)
			if cached == nil {
				return 0, false
			}
			return of(float64(*cached), float64(*all)), true
		}
	}
	start, end := extent(part.requests)
	withCache, hits := 0, any(nil)
	if cached, all := cacheOf(part.requests); cached != nil {
		hits = 100 * ratio(float64(*cached), float64(*all))
	}
	for _, s := range list {
		if cached, _ := cacheOf(s.requests); cached != nil {
			withCache++
		}
	}
	return object{
		{"sessions_per_second", ratio(float64(len(list)), seconds(end-start))},
		{"session_duration_sec", values(func(s *perfSession) (float64, bool) {
			from, to := extent(s.requests)
			return seconds(to - from), true
		})},
		{"num_events", values(func(s *perfSession) (float64, bool) { return float64(len(s.requests)), true })},
		{"num_events_cancelled", values(func(s *perfSession) (float64, bool) {
			return float64(s.count((*Request).incomplete)), true
		})},
		{"total_input_tokens", values(func(s *perfSession) (float64, bool) {
			n, _ := perfTokens(s.requests)
			return float64(n), true
		})},
		{"total_output_tokens", values(func(s *perfSession) (float64, bool) {
			_, n := perfTokens(s.requests)
			return float64(n), true
		})},
		{"total_cached_tokens", values(cache(func(cached, _ float64) float64 { return cached }))},
		{"total_cacheable_input_tokens", values(cache(func(_, all float64) float64 { return all }))},
		{"sessions_with_cache_info", withCache}, {"kv_cache_hit_percent", hits},
		{"kv_cache_hit_per_session_percent", values(cache(func(cached, all float64) float64 {
			return 100 * ratio(cached, all)
		}))}, {"tfut_sec", nil},
		{"sessions_with_tfut", 0}, {"tfut_none_reasons", object{{noUserFacing, len(list)}}},
		{"num_user_facing_events", nil}, {"num_structured_output_excluded", nil}}
}

// stageOf describes the stage of a report, which had no timeout.
func (p *perf) stageOf(part *perfPart, duration float64) object {
	status := "COMPLETED"
	if part.load.Stopped {
		status = "FAILED"
	}
	rate := known(part.load.RatePerS, part.load.RatePerS > 0)
	return object{{"stage_id", p.number(part.requests[0].Stage)}, {"status", status}, {"timeout_configured", nil},
		{"actual_duration", duration}, {"teardown_duration", nil}, {"dropped_requests", part.load.Unsent},
		{"concurrent_sessions", orNull(part.load.Concurrency)}, {"session_rate", rate}}
}

// perfSessionLabels lists the causes of failed sessions, the most frequent first.
func perfSessionLabels(causes map[string][]string) object {
	names := slices.Sorted(maps.Keys(causes))
	ordering.Sort(names, func(a, b string) int { return len(causes[b]) - len(causes[a]) })
	o := object{}
	for _, name := range names {
		o.add(name, object{{"count", len(causes[name])},
			{"messages", []object{{{"message", name}, {"session_ids", causes[name]}}}}})
	}
	return o
}
