package main

// goal is a row of the table: a figure computed from measurements, with its floor and goal.
type goal struct {
	What      string
	Ours      string
	Reference string // the reference, measured in the same round; empty: none
	// With a reference the figure is Times·reference/own, without one Times/own; 0: the own value, or own/reference.
	Times  float64
	Unit   string
	Floor  float64
	Goal   float64
	AtMost bool // smaller is better
}

// goals lists the figures of the hot path. A client's figures are ratios of processor time per request or token: 1.1
// means 1.1 times the work of the reference in the same processor time.
var goals = []goal{
	{What: "HTTP client alone / wrk, 1.2 KB, 64 connections", Ours: "whole-1.2KB-64/client",
		Reference: "whole-1.2KB-64/wrk", Times: 1, Unit: "x", Floor: 0.95, Goal: 1.1},
	{What: "HTTP client alone / wrk, 1.2 KB, 256 connections", Ours: "whole-1.2KB-256/client",
		Reference: "whole-1.2KB-256/wrk", Times: 1, Unit: "x", Floor: 1.0, Goal: 1.3},
	{What: "HTTP client alone / wrk, 1.2 KB, 1024 connections", Ours: "whole-1.2KB-1024/client",
		Reference: "whole-1.2KB-1024/wrk", Times: 1, Unit: "x", Floor: 1.0, Goal: 1.3},
	{What: "HTTP client alone / wrk, 24 KB, 64 connections", Ours: "whole-24KB-64/client", Reference: "whole-24KB-64/wrk",
		Times: 1, Unit: "x", Floor: 1.0, Goal: 1.2},
	{What: "whole path with LoadGen / wrk, 64 connections", Ours: "whole-1.2KB-64/path", Reference: "whole-1.2KB-64/wrk",
		Times: 1, Unit: "x", Floor: 0.85, Goal: 1.05},
	{What: "whole path with LoadGen / wrk, 256 connections", Ours: "whole-1.2KB-256/path",
		Reference: "whole-1.2KB-256/wrk", Times: 1, Unit: "x", Floor: 0.85, Goal: 1.05},
	{What: "whole path with ids of requests / without, 256 connections", Ours: "ids-256/path-ids",
		Reference: "ids-256/path", Unit: "x", Floor: 1.05, Goal: 1.01, AtMost: true},
	{What: "whole run over HTTP / wrk, 256 connections, nginx", Ours: "http-nginx-256/run",
		Reference: "http-nginx-256/wrk", Times: 1, Unit: "x", Floor: 0.95, Goal: 1.05},
	{What: "the same over HTTP with start and figures", Ours: "http-nginx-256/process",
		Reference: "http-nginx-256/wrk", Times: 1, Unit: "x", Floor: 0.95, Goal: 1.05},
	{What: "a workload / a run with LoadGen, per request, both over HTTP", Ours: "workload-256/workload",
		Reference: "workload-256/run", Unit: "x", Floor: 1.2, Goal: 1.05, AtMost: true},
	{What: "the same with start and figures", Ours: "workload-256/workload-process",
		Reference: "workload-256/process", Unit: "x", Floor: 1.2, Goal: 1.05, AtMost: true},
	{What: "whole run over HTTPS / wrk over HTTPS, 256 connections", Ours: "https-1.2KB-256/run",
		Reference: "https-1.2KB-256/wrk", Times: 1, Unit: "x", Floor: 0.95, Goal: 1.3},
	{What: "the same over HTTPS with start and figures", Ours: "https-1.2KB-256/process",
		Reference: "https-1.2KB-256/wrk", Times: 1, Unit: "x", Floor: 0.95, Goal: 1.3},
	{What: "HTTPS client alone / wrk over HTTPS, 256 connections", Ours: "https-1.2KB-256/client",
		Reference: "https-1.2KB-256/wrk", Times: 1, Unit: "x", Floor: 0.95, Goal: 1.3},
	{What: "HTTPS client alone / wrk over HTTPS, 24 KB, 64 connections", Ours: "https-24KB-64/client",
		Reference: "https-24KB-64/wrk", Times: 1, Unit: "x", Floor: 0.95, Goal: 1.1},
	{What: "whole path over HTTPS / wrk over HTTPS", Ours: "https-1.2KB-256/path", Reference: "https-1.2KB-256/wrk",
		Times: 1, Unit: "x", Floor: 0.95, Goal: 1.3},
	{What: "memory of a whole run over HTTPS, 256 connections", Ours: "https-1.2KB-256/run-memory", Unit: "MB",
		Floor: 80, Goal: 60, AtMost: true},
	{What: "peak of the same, with its figures", Ours: "https-1.2KB-256/process-memory", Unit: "MB", Floor: 80, Goal: 60,
		AtMost: true},
	{What: "memory per stream over TLS, 10,000 in flight", Ours: "tls-memory-per-stream", Unit: "KiB", Floor: 40,
		Goal: 20, AtMost: true},
	{What: "tokens over HTTPS per CPU second, 1 per segment", Ours: "https-stream-1-64/client", Times: 1e3, Unit: "k/s",
		Floor: 150, Goal: 200},
	{What: "TLS handshakes per CPU second, full, with a request", Ours: "handshake-full-16/client", Times: 1e6,
		Unit: "/s", Floor: 1500, Goal: 2500},
	{What: "TLS handshakes per CPU second, resumed, with a request", Ours: "handshake-resumed-16/client", Times: 1e6,
		Unit: "/s", Floor: 4000, Goal: 6000},
	{What: "full handshakes / crypto/tls alone", Ours: "handshake-full-16/client", Reference: "handshake-full-16/bare",
		Times: 1, Unit: "x", Floor: 1, Goal: 1.2},
	{What: "resumed handshakes / crypto/tls alone", Ours: "handshake-resumed-16/client",
		Reference: "handshake-resumed-16/bare", Times: 1, Unit: "x", Floor: 1, Goal: 1.5},
	{What: "full handshakes / OpenSSL's s_time", Ours: "handshake-full-16/client",
		Reference: "handshake-full-16/openssl", Times: 1, Unit: "x", Floor: 1, Goal: 2},
	{What: "resumed handshakes / OpenSSL's s_time", Ours: "handshake-resumed-16/client",
		Reference: "handshake-resumed-16/openssl", Times: 1, Unit: "x", Floor: 1, Goal: 1.25},
	{What: "whole path / the same on net/http and encoding/json", Ours: "whole-1.2KB-64/path",
		Reference: "whole-1.2KB-64/path-nethttp", Times: 1, Unit: "x", Floor: 2.3, Goal: 3},
	{What: "client alone / net/http and encoding/json", Ours: "whole-1.2KB-64/client",
		Reference: "whole-1.2KB-64/client-nethttp", Times: 1, Unit: "x", Floor: 2.3, Goal: 3},
	{What: "streamed tokens per CPU second, 1 per segment", Ours: "stream-1-64/client", Times: 1e3, Unit: "k/s",
		Floor: 150, Goal: 250},
	{What: "tokens with the kernel's times / without, per token", Ours: "stream-1-64/client-times",
		Reference: "stream-1-64/client", Unit: "x", Floor: 1.05, Goal: 1.03, AtMost: true},
	{What: "streamed tokens per CPU second, 16 per segment", Ours: "stream-16-64/client", Times: 1e3, Unit: "k/s",
		Floor: 900, Goal: 1500},
	{What: "the same through LoadGen, 1 per segment", Ours: "stream-1-64/path", Times: 1e3, Unit: "k/s", Floor: 150,
		Goal: 250},
	{What: "the same through LoadGen, 16 per segment", Ours: "stream-16-64/path", Times: 1e3, Unit: "k/s", Floor: 900,
		Goal: 1500},
	{What: "one stream of 50 tokens/s / net/http and encoding/json", Ours: "slow-1/client",
		Reference: "slow-1/client-nethttp", Times: 1, Unit: "x", Floor: 0.7, Goal: 1},
	{What: "SSE scanner / encoding/json", Ours: "backends/openai.Stream/scanner per token",
		Reference: "backends/openai.Stream/encoding-json per token", Times: 1, Unit: "x", Floor: 25, Goal: 60},
	{What: "allocations per query", Ours: "allocations/query", Unit: "", Floor: 0.02, Goal: 0.02, AtMost: true},
	{What: "allocations per token", Ours: "allocations/token", Unit: "", Floor: 0.001, Goal: 0.001, AtMost: true},
	{What: "memory per stream in flight", Ours: "memory-per-stream", Unit: "KiB", Floor: 20, Goal: 12, AtMost: true},
	{What: "schedule lag p99, Go saturated / idle", Ours: "schedule-lag/saturated", Reference: "schedule-lag/idle",
		Unit: "x", Floor: 10, Goal: 2, AtMost: true},
	{What: "bridge and Go above a C++ worker, per query", Ours: "bridge/go", Reference: "bridge/cpp", Times: -1,
		Unit: "us", Floor: 1, Goal: 0.3, AtMost: true},
	{What: "figures and request log after the last answer, per sample", Ours: "ledger.AfterTheTest/all per sample",
		Unit: "ns", Floor: 2000, Goal: 1500, AtMost: true},
	{What: "a Server test after its last answer, per million samples", Ours: "end-of-server/million", Unit: "s", Floor: 4,
		Goal: 2, AtMost: true},
	{What: "24,576 rows of 1,024 ids, slowest format, CPU", Ours: "datasets/cpu", Unit: "s", Floor: 20, Goal: 4,
		AtMost: true},
	{What: "24,576 rows of 1,024 ids, largest format, memory", Ours: "datasets/memory", Unit: "MB", Floor: 600, Goal: 400,
		AtMost: true},
	{What: "variation of the gaps of 1,000 constant requests/s, sent", Ours: "sending/constant-variation", Unit: "x",
		Floor: 0.05, Goal: 0.01, AtMost: true},
	{What: "Kolmogorov-Smirnov distance of Poisson, sent / limit", Ours: "sending/poisson-distance", Unit: "x",
		Floor: 2, Goal: 1, AtMost: true},
	{What: "TTFT above the server's, mean, 200 x 128 tokens/s", Ours: "stamps/ttft-mean", Unit: "us", Floor: 100,
		Goal: 50, AtMost: true},
	{What: "TTFT above the server's, p99, 200 x 128 tokens/s", Ours: "stamps/ttft-p99", Unit: "us", Floor: 500,
		Goal: 250, AtMost: true},
	{What: "virtual time of a tune / bisection by full runs, sharp knee", Ours: "tune/sharp-knee/bisection", Unit: "x",
		Floor: 0.5, Goal: 0.3, AtMost: true},
	{What: "the same, noisy server", Ours: "tune/noisy/bisection", Unit: "x", Floor: 0.5, Goal: 0.3, AtMost: true},
	{What: "virtual time of a tune / a sweep by full runs, noisy server", Ours: "tune/noisy/sweep", Unit: "x", Floor: 0.2,
		Goal: 0.1, AtMost: true},
	{What: "real tunes that confirm a rate, runs of 20 s", Ours: "tune/real/confirmed", Unit: "x", Floor: 0.5, Goal: 1},
	{What: "confirming runs of each", Ours: "tune/real/runs", Unit: "x", Floor: 3, Goal: 1.05, AtMost: true},
	{What: "their time / seven such runs", Ours: "tune/real/bisection", Unit: "x", Floor: 0.75, Goal: 0.3, AtMost: true},
	{What: "2 shards / 1, CPU per further request, 1,024 users a loop", Ours: "spread/saturated-shards",
		Reference: "spread/saturated-one", Unit: "x", Floor: 1.75, Goal: 1.03, AtMost: true},
	{What: "the same, 512 users together", Ours: "spread/closed-shards",
		Reference: "spread/closed-one", Unit: "x", Floor: 1.75, Goal: 1.03, AtMost: true},
	{What: "the same, 2,000 requests/s", Ours: "spread/open-shards", Reference: "spread/open-one", Unit: "x",
		Floor: 1.2, Goal: 1.03, AtMost: true},
	{What: "2 shards / 1 process of 2 loops, 512 users", Ours: "spread/closed-shards", Reference: "spread/closed-loops",
		Unit: "x", Floor: 1.2, Goal: 1.03, AtMost: true},
	{What: "the same, 2,000 requests/s", Ours: "spread/open-shards", Reference: "spread/open-loops", Unit: "x",
		Floor: 1.2, Goal: 1.03, AtMost: true},
	{What: "starts of 2 shards beyond the stated bound", Ours: "spread/start-beyond-bound", Unit: "ms", Floor: 2,
		Goal: 0.5, AtMost: true},
	{What: "merge of 64 shards with figures, per million requests", Ours: "spread/merge-million", Unit: "s", Floor: 25,
		Goal: 0.47, AtMost: true},
	{What: "memory of the merge", Ours: "spread/memory", Unit: "MB", Floor: 500, Goal: 300, AtMost: true},
	{What: "Server test at 5,000 requests/s, with spans / without, CPU per sample", Ours: "spans/with",
		Reference: "spans/without", Unit: "x", Floor: 1.1, Goal: 1.03, AtMost: true},
	{What: "memory of the figures of ten million requests", Ours: "many/memory", Unit: "MB", Floor: 500, Goal: 400,
		AtMost: true},
	{What: "collection of results over loopback", Ours: "spread/collection", Unit: "MB/s", Floor: 100, Goal: 200},
}

// figures returns a row's figure of every round; none if a measurement is missing.
func (g *goal) figures(measured map[string][]float64) []float64 {
	ours, reference := measured[g.Ours], measured[g.Reference]
	if g.Reference != "" && len(reference) != len(ours) {
		return nil
	}
	var out []float64
	for i, v := range ours {
		switch {
		case g.Reference == "" && g.Times == 0:
			out = append(out, v)
		case g.Reference == "":
			out = append(out, g.Times/v)
		case g.Times < 0: // the difference
			out = append(out, v-reference[i])
		case g.Times == 0:
			out = append(out, v/reference[i])
		default:
			out = append(out, g.Times*reference[i]/v)
		}
	}
	return out
}

// met returns the best mark that a figure reaches: "goal", "floor" or "no".
func (g *goal) met(figure float64) string {
	reaches := func(mark float64) bool { return g.AtMost && figure <= mark || !g.AtMost && figure >= mark }
	switch {
	case reaches(g.Goal):
		return "goal"
	case reaches(g.Floor):
		return "floor"
	default:
		return "no"
	}
}
