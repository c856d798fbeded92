package peers

import "strconv"

// mostGuideRequests is how many requests of a group are listed: about 20 MB.
const mostGuideRequests = 10_000

// lists returns the requests of each group. Of a larger group than mostGuideRequests it returns that many, at equal
// distances in the order of the log.
func (b *guideBenchmark) lists(e *Export) object {
	var o object
	for _, status := range guideStatus[:len(guideStatus)-1] { // without the sum
		list, at := []object{}, []int{}
		for i, r := range b.requests {
			if status.is(r) {
				at = append(at, i)
			}
		}
		n := min(len(at), mostGuideRequests)
		for k := range n {
			list = append(list, b.request(at[k*len(at)/n]))
		}
		if n < len(at) {
			e.note("requests.%s lists %d of %d requests, at equal distances; the metrics count all", status.name, n, len(at))
		}
		o.add(status.name, list)
	}
	return o
}

// request returns a request with guidellm's figures of it (guidellm/schemas, GenerativeRequestStats); null: unknown.
func (b *guideBenchmark) request(i int) object {
	r := b.requests[i]
	id := b.id() + "-" + strconv.Itoa(i)
	start, end, total := seconds(r.startNS()), seconds(r.endNS()), r.InputTokens+r.OutputTokens
	latency := seconds(r.endNS() - r.startNS())
	o := object{{"type_", "generative_request_stats"}, {"request_id", id}, {"response_id", nil}, {"request_args", nil},
		{"output", nil}, {"reasoning_output", nil}, {"tool_calls", nil}, {"info", guideInfo(r, id)},
		{"input_metrics", guidePrompt(r)}, {"response_metrics", nil},
		{"output_metrics", guideUsage(r.OutputTokens)}, {"request_start_time", start}, {"request_end_time", end},
		{"request_latency", latency}}
	late := known(seconds(r.startNS()-r.DueNS), r.DueNS != 0)
	o.add("request_dispatch_delay", late)
	o.add("turn_predecessor_delay", known(0, r.DueNS != 0 && !r.follows()))
	o.add("turn_scheduling_delay", known(seconds(r.startNS()-r.DueNS), r.DueNS != 0 && !r.follows()))
	o.add("request_scheduled_latency", known(seconds(r.endNS()-r.DueNS), r.DueNS != 0))
	o.add("prompt_tokens", tokenCount(r.InputTokens))
	o.add("output_tokens", tokenCount(r.OutputTokens))
	o.add("total_tokens", tokenCount(total))
	first, streamed := firstToken(r)
	gap, hasGaps := vllmTPOT(r)
	n := float64(r.OutputTokens)
	events := float64(r.events())
	o.add("time_to_first_token_ms", known(first*1e3, streamed))
	o.add("time_per_output_token_ms", known(seconds(r.lastNS()-r.startNS())*1e3/n, n > 0))
	o.add("inter_token_latency_ms", known(gap*1e3, hasGaps && r.LastTokenNS != 0))
	o.add("tokens_per_second", known(float64(total)/latency, total > 0 && latency > 0))
	o.add("output_tokens_per_second", known(n/latency, n > 0 && latency > 0))
	o.add("iter_tokens_per_iteration", known((n-1)/(events-1), n > 1 && events > 1))
	o.add("output_tokens_per_iteration", known(n/events, n > 0 && events > 0))
	visible, isKnown := firstVisible(r)
	o.add(guideTTFO, known(visible*1e3, isKnown && b.log.HasVisible))
	o.add("cached_tokens", guideCached(r))
	for _, key := range []string{"time_to_last_round_trip_ms", "avg_round_trip_time_ms"} {
		o.add(key, nil)
	}
	return o
}

// guideInfo returns when the steps of a request happened, and how it ended.
func guideInfo(r *Request, id string) object {
	status, failure := "completed", any(nil)
	if !r.ok() {
		status, failure = "errored", r.Failure
	}
	if r.incomplete() {
		status = "cancelled"
	}
	at := func(ns int64) any { return known(seconds(ns), ns != 0) }
	return object{{"request_id", id}, {"status", status}, {"timings", object{{"targeted_start", at(r.DueNS)},
		{"request_start", seconds(r.startNS())}, {"first_token_iteration", at(r.FirstTokenNS)},
		{"first_output_token_iteration", at(r.VisibleNS)},
		{"last_token_iteration", at(r.LastTokenNS)}, {"token_iterations", r.events()}, {"request_end", seconds(r.endNS())},
		{"resolve_end", seconds(r.endNS())}}}, {"error", failure}}
}

// guidePrompt returns the tokens of a prompt, and how many of them came from the server's cache.
func guidePrompt(r *Request) object {
	return append(guideUsage(r.InputTokens), object{{"cached_tokens", guideCached(r)}}...)
}

// guideCached returns the cached tokens of a prompt, or null if the server did not report them.
func guideCached(r *Request) any {
	if !r.HasCached {
		return nil
	}
	return r.CachedTokens
}

// guideUsage returns the tokens of a prompt or of an answer.
func guideUsage(tokens int) object { return object{{"text_tokens", tokenCount(tokens)}} }

// tokenCount returns a number of tokens, or null if it is unknown.
func tokenCount(tokens int) any {
	if tokens == 0 {
		return nil
	}
	return tokens
}

// known returns a value, or null if it is unknown.
func known(v float64, is bool) any {
	if !is {
		return nil
	}
	return v
}

// named returns null for a name that is empty.
func named(name string) any {
	if name == "" {
		return nil
	}
	return name
}
