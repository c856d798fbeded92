package peers

// writeRequests adds the file with an entry for each request, if it was asked for.
func (p *perf) writeRequests(e *Export) {
	if !p.Asked.Requests {
		return
	}
	requests := p.which(func(r *Request) bool { return p.Stages[r.Stage].Probe == "" })
	entries := array{len(requests), func(i int) any { return p.entry(requests[i]) }}
	e.Files = append(e.Files, entries.file("per_request_lifecycle_metrics.json"))
	e.note("the log has no prompts and answers: request, response and response_chunks are left out of the entries of " +
		"requests, and server_usage is null unless it has cached tokens")
	if sessions := sessionsOf(requests); len(sessions) > 0 {
		entries := array{len(sessions), func(i int) any { return p.sessionEntry(sessions[i]) }}
		e.Files = append(e.Files, entries.file("per_session_lifecycle_metrics.json"))
	}
}

// entry returns a request as an item of the file, with times in s since 1970: inference-perf's own have another origin,
// and only their differences have a meaning (build_per_request_lifecycle_entry).
func (p *perf) entry(r *Request) object {
	text := object{{"text", object{{"input_tokens", r.InputTokens}}}, {"image", nil}, {"video", nil}, {"audio", nil}}
	response := any(nil)
	if r.ok() {
		_, n := r.content()
		o := object{{"output_tokens", n}, {"server_usage", perfUsage(r)}}
		if r.TokenNS != nil {
			o.add("chunk_times", allSeconds(r.TokenNS[r.reasoning():]))
			o.add("output_token_times", allSeconds(perfTokenNS(r)))
		}
		response = o
	}
	info := object{{"request_metrics", text}, {"response_metrics", response}, {"extra_info", object{}},
		{"lora_adapter", named(r.Adapter)}, {"graph_event_id", nil}, {"labels", object{}}}
	if r.isRepeated() {
		info.add("retries_attempted", r.Retries)
		info.add("retries_recovered", r.ok())
	}
	info.add("input_tokens", r.InputTokens)
	o := object{{"start_time", seconds(r.startNS())}, {"end_time", seconds(r.endNS())}, {"info", info}}
	if r.ok() {
		o.add("computed_metrics", perfComputed(r))
	}
	o.add("error", perfError(r))
	return o
}

// allSeconds converts times.
func allSeconds(ns []int64) []float64 {
	list := make([]float64, len(ns))
	for i, at := range ns {
		list[i] = seconds(at)
	}
	return list
}

// perfUsage returns the part of the server's usage that the log is known to have from it; null: the counts may be this
// program's own.
func perfUsage(r *Request) any {
	if !r.HasCached {
		return nil
	}
	return object{{"prompt_tokens", r.InputTokens}, {"completion_tokens", r.OutputTokens},
		{"prompt_tokens_details", object{{"cached_tokens", r.CachedTokens}}}}
}

// perfComputed returns the figures of an answered request, as in the summary; null: it has none.
func perfComputed(r *Request) object {
	latency, _ := requestTime(r)
	ntpot, _ := perfNTPOT(r)
	ttft, hasFirst := perfTTFT(r)
	tpot, hasTPOT := perfTPOT(r)
	itl, hasGaps := meanGap(r)
	_, n := r.content()
	return object{{"request_latency", latency}, {"normalized_time_per_output_token", ntpot},
		{"time_to_first_token", known(ttft, hasFirst)}, {"time_per_output_token", known(tpot, hasTPOT)},
		{"inter_token_latency", known(itl, hasGaps)}, {"inter_token_latencies", perfGaps(r)},
		{"input_tokens", r.InputTokens}, {"output_tokens", n}, {"ttft_slo_sec", nil}, {"tpot_slo_sec", nil}}
}
