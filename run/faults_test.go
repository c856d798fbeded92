package run

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// faultRow is one fault of the wire, and the expected end of the samples that it strikes.
type faultRow struct {
	name  string
	reply func(*call)
	want  backends.Reason // OK: the client must tolerate it
	args  []string        // added to those of the kind of run
	// "": Server with streams; offline; chat; native (SGLang's route); llama (a row with a vocabulary)
	kind  string
	cause record.Code // of the verdict, if it is not failed_samples
	// How the next sample on the connection may end. Bytes behind an answer may arrive after the client has sent the
	// next request. The client cannot tell then that they are not the beginning of its answer.
	next []backends.Reason
}

// A failed attempt is struck again, because the retry has the same prompt. So want is the end of the sample.
var faultRows = []faultRow{
	{name: "nothing wrong", reply: (*call).good},
	{name: "reset before the first byte", reply: (*call).reset, want: backends.FailReset},
	{name: "reset before the first byte, repeated as often as allowed", reply: (*call).reset, want: backends.FailReset,
		args: []string{"--retries", "2"}},
	{name: "reset after the first byte", reply: func(x *call) {
		x.raw(streamHead, data(token(10, "null")))
		time.Sleep(50 * time.Millisecond) // a RST overtakes what was not read
		x.reset()
	}, want: backends.FailReset},
	{name: "closed before the first byte", reply: func(x *call) { x.hangUp = true }, want: backends.FailReset},
	{name: "half-closed before the first byte", reply: (*call).halfClose, want: backends.FailReset},
	{name: "half-closed in the middle", reply: func(x *call) { x.raw(streamHead, data(token(10, "null"))); x.halfClose() },
		want: backends.FailTruncated},
	{name: "slow header", reply: func(x *call) { x.drip(streamHead, 100*time.Millisecond); x.hangUp = true },
		want: backends.FailFirstToken,
		args: []string{"--first-token-timeout", "1s"}},
	{name: "byte by byte, in time", reply: func(x *call) {
		x.drip(streamHead+strings.Join(x.events(), "")+x.trailer(),
			50*time.Microsecond)
	}},
	{name: "slow body", reply: func(x *call) {
		x.raw(streamHead, data(token(10, "null")))
		x.drip(strings.Join(x.events(), ""), 100*time.Millisecond)
		x.hangUp = true
	}, want: backends.FailBetweenTokens, args: []string{"--token-timeout", "1s"}},
	{name: "tokens that never end", reply: func(x *call) {
		x.raw(streamHead)
		for range 60 {
			x.raw(data(token(10, "null")))
			time.Sleep(100 * time.Millisecond)
		}
		x.hangUp = true
	}, want: backends.FailRequestTimeout, args: []string{"--request-timeout", "2s"}},
	{name: "no header at all", reply: (*call).silent, want: backends.FailFirstToken,
		args: []string{"--first-token-timeout", "1s"}},
	{name: "silence after the header", reply: func(x *call) { x.raw(streamHead); x.silent() },
		want: backends.FailFirstToken, args: []string{"--first-token-timeout", "1s"}},
	{name: "comments, which are no tokens, for ever", reply: func(x *call) {
		x.raw(streamHead)
		for range 60 {
			x.raw(chunk(": keep-alive\n\n"))
			time.Sleep(100 * time.Millisecond)
		}
		x.hangUp = true
	}, want: backends.FailFirstToken, args: []string{"--first-token-timeout", "1s"}},
	{name: "silence in the middle", reply: func(x *call) { x.raw(streamHead, data(token(10, "null"))); x.silent() },
		want: backends.FailBetweenTokens, args: []string{"--token-timeout", "1s"}},
	{name: "truncated chunk", reply: func(x *call) { x.raw(streamHead, "50\r\ndata: {\"choi"); x.hangUp = true },
		want: backends.FailTruncated},
	{name: "chunk size that is no number", reply: func(x *call) { x.raw(streamHead, "zz\r\n"); x.hangUp = true },
		want: backends.FailBadChunk},
	{name: "chunk size too small", reply: func(x *call) {
		x.raw(streamHead, "5\r\n"+strings.Repeat("data: x", 9))
		x.hangUp = true
	}, want: backends.FailBadChunk},
	{name: "Content-Length too short", reply: func(x *call) {
		body := x.whole()
		x.raw(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body)-20,
			body))
	}, want: backends.FailBadJSON, kind: "offline"},
	{name: "Content-Length too long", reply: func(x *call) {
		body := x.whole()
		x.raw(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body)+20,
			body))
		x.hangUp = true
	}, want: backends.FailTruncated, kind: "offline"},
	{name: "bytes after the end", reply: func(x *call) { x.good(); x.raw("what is this?"); x.hangUp = true },
		cause: "unasked_answers", next: []backends.Reason{backends.FailTruncated, backends.FailReset}},
	{name: "gzip although not asked for", reply: func(x *call) {
		x.status("200 OK", "application/json", "\x1f\x8b\x08\x00\x00", "Content-Encoding: gzip")
	}, want: backends.FailBadJSON},
	{name: "HTTP 400", reply: refuse("400 Bad Request"), want: "http_400"},
	{name: "HTTP 401", reply: refuse("401 Unauthorized"), want: "http_401"},
	{name: "HTTP 404", reply: refuse("404 Not Found"), want: "http_404"},
	{name: "HTTP 408", reply: refuse("408 Request Timeout"), want: "http_408"},
	{name: "HTTP 429 with Retry-After", reply: refuse("429 Too Many Requests", "Retry-After: 1"), want: "http_429"},
	{name: "HTTP 429 with Retry-After, repeated", reply: refuse("429 Too Many Requests", "Retry-After: 1"),
		want: "http_429", args: []string{"--retries", "1"}},
	{name: "HTTP 500", reply: refuse("500 Internal Server Error"), want: "http_500"},
	{name: "HTTP 502", reply: refuse("502 Bad Gateway"), want: "http_502"},
	{name: "HTTP 503", reply: refuse("503 Service Unavailable"), want: "http_503"},
	{name: "HTTP 504", reply: refuse("504 Gateway Timeout"), want: "http_504"},
	{name: "HTML", reply: func(x *call) { x.status("200 OK", "text/html", "<html><body>Sign in</body></html>") },
		want: backends.FailBadJSON},
	{name: "redirect", reply: func(x *call) { x.status("302 Found", "text/plain", "moved", "Location: /elsewhere") },
		want: "http_302"},
	{name: "empty body", reply: func(x *call) { x.status("200 OK", "application/json", "") }, want: backends.FailEmpty,
		cause: "empty_outputs"},
	{name: "empty stream", reply: func(x *call) { x.raw(streamHead, lastChunk) }, want: backends.FailEmpty,
		cause: "empty_outputs"},
	{name: "only a role", reply: func(x *call) {
		x.raw(streamHead, data(`{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`), data("[DONE]"), lastChunk)
	}, want: backends.FailTruncated, kind: "chat"},
	{name: "a role and an end", reply: func(x *call) {
		x.raw(streamHead, data(`{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`),
			data(`{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":0,"total_tokens":3}}`), data("[DONE]"), lastChunk)
	}, want: backends.FailEmpty, kind: "chat", cause: "empty_outputs"},
	{name: "only usage", reply: func(x *call) { x.raw(streamHead, data(usageOf(3, 4)), data("[DONE]"), lastChunk) },
		want: backends.FailTruncated},
	{name: "error event in the middle", reply: func(x *call) {
		x.raw(streamHead, data(token(10, "null")), data(`{"error":{"message":"EngineCore died","type":"InternalServerError","code":500}}`), data("[DONE]"), lastChunk)
	}, want: backends.FailServerErrorEvent},
	{name: "finish_reason abort", reply: func(x *call) {
		x.raw(streamHead, data(token(10, "null")), data(token(11, "abort")), data("[DONE]"), lastChunk)
	}, want: backends.FailAborted},
	{name: "no finish_reason", reply: func(x *call) {
		x.raw(streamHead, data(token(10, "null")), data("[DONE]"),
			lastChunk)
	}, want: backends.FailTruncated},
	{name: "no [DONE]", reply: func(x *call) {
		x.raw(streamHead, strings.Join(x.events(), ""), data(usageOf(3, 4)),
			lastChunk)
	}},
	{name: "two [DONE]", reply: func(x *call) {
		x.raw(streamHead, strings.Join(x.events(), ""), data(usageOf(3, 4)), data("[DONE]"), data("[DONE]"), lastChunk)
	}},
	{name: "malformed JSON", reply: func(x *call) {
		x.raw(streamHead, data(token(10, "null")), data(`{"choices":[{"index":0,`), data("[DONE]"), lastChunk)
	}, want: backends.FailBadJSON},
	{name: "broken UTF-8, the ids whole", reply: func(x *call) {
		x.raw(streamHead, strings.ReplaceAll(strings.Join(x.events(), ""), " t1", " \xff\xc3"), x.trailer())
	}},
	{name: "a line of 10 MB", reply: func(x *call) {
		x.raw(streamHead, data(strings.Replace(token(10, "null"), " t10", strings.Repeat("x", 10<<20), 1)),
			strings.Join(x.events()[1:], ""), x.trailer())
	}},
	{name: "cumulative where increments were expected", reply: func(x *call) {
		var s strings.Builder
		for i, ids := range []string{"10", "10,11", "10,11,12", "10,11,12,13"} {
			finish := "null"
			if i == 3 {
				finish = `"length"`
			}
			s.WriteString(data(`{"choices":[{"index":0,"text":" t","token_ids":[` + ids + `],"finish_reason":` + finish + `}]}`))
		}
		x.raw(streamHead, s.String(), data(usageOf(3, 4)), data("[DONE]"), lastChunk)
	}, want: backends.FailTokenCount, cause: "token_mismatch"},
	// Tokens that the server withdraws have been timed.
	{name: "a list of ids that shrinks, and is whole at the end", reply: func(x *call) {
		x.raw(streamHead, native("10,11", 2, "null"), native("10", 1, "null"), native("10,11,12,13", 4, nativeLength),
			data("[DONE]"), lastChunk)
	}, want: backends.FailBadEvent, kind: "native"},
	{name: "increments behind cumulative events", reply: func(x *call) {
		x.raw(streamHead, native("10", 1, "null"), native("10,11", 2, "null"), native("12,13", 4, nativeLength),
			data("[DONE]"), lastChunk)
	}, want: backends.FailBadEvent, kind: "native"},
	{name: "an error event by its type", reply: func(x *call) {
		x.raw(streamHead, data(token(10, "null")), chunk("event: error\ndata: {\"message\": \"engine died\"}\n\n"),
			strings.Join(x.events()[1:], ""), x.trailer())
	}, want: backends.FailServerErrorEvent},
	{name: "a detail inside a stream that goes on", reply: func(x *call) {
		x.raw(streamHead, data(token(10, "null")), data(`{"detail":"engine died"}`), strings.Join(x.events()[1:], ""),
			x.trailer())
	}, want: backends.FailServerErrorEvent},
	{name: "increments of ids", reply: func(x *call) {
		x.raw(streamHead, native("10,11,12", 3, "null"), native("10", 4, nativeLength), data("[DONE]"), lastChunk)
	}, kind: "native"},
	{name: "a list of ids that stays short", reply: func(x *call) {
		x.raw(streamHead, native("10,11,12", 3, "null"), native("10", 9, nativeLength), data("[DONE]"), lastChunk)
	}, want: backends.FailTokenCount, kind: "native", cause: "token_mismatch"},
	{name: "wrong count of tokens", reply: func(x *call) {
		x.raw(streamHead, strings.Join(x.events(), ""), data(usageOf(3, 7)), data("[DONE]"), lastChunk)
	}, want: backends.FailTokenCount, cause: "token_mismatch"},
	{name: "a first text without a token", reply: func(x *call) { // it would come before the first token
		x.raw(streamHead, data(`{"choices":[{"index":0,"text":" ","finish_reason":null}]}`), strings.Join(x.events(), ""),
			x.trailer())
	}, want: backends.FailTokenCount, cause: "token_mismatch"},
	{name: "cut shorter than was asked for", reply: func(x *call) {
		x.raw(streamHead, data(token(10, "null")), data(token(11, "length")), data(usageOf(3, 2)), data("[DONE]"), lastChunk)
	}, want: backends.FailTooShort},
	{name: "longer than was allowed", reply: func(x *call) {
		x.raw(streamHead, data(token(10, "null")), strings.Join(x.events(), ""), data(usageOf(3, 5)), data("[DONE]"),
			lastChunk)
	}, want: backends.FailTooLarge},
	{name: "ended by a deadline of the server", reply: func(x *call) {
		x.raw(streamHead, data(token(10, "null")), data(token(11, "timeout")), data(usageOf(3, 2)), data("[DONE]"), lastChunk)
	}, want: backends.FailAborted},
	{name: "an id out of range", reply: func(x *call) {
		x.raw(streamHead, data(token(999_999, "null")), strings.Join(x.events()[1:], ""), x.trailer())
	}, want: backends.FailBadEvent, kind: "llama"},
}

func refuse(line string, headers ...string) func(*call) {
	return func(x *call) {
		x.status(line, "application/json", `{"error":{"message":"no","type":"refused","code":0}}`, headers...)
	}
}

// kinds are the flags of the runs that rows use.
var kinds = map[string][]string{
	"":        {"--model", "generic", "--scenario", "Server", "--target-qps", "200", "--backend", "vllm"},
	"offline": {"--model", "generic", "--scenario", "Offline", "--backend", "vllm"},
	"chat": {"--model", "generic", "--scenario", "Server", "--target-qps", "200", "--backend", "openai", "--api",
		"chat"},
	"native": {"--model", "generic", "--scenario", "Server", "--target-qps", "200", "--backend", "sglang"},
	"llama": {"--model", "llama3.1-8b", "--scenario", "Server", "--target-qps", "200", "--backend", "vllm",
		"--min-tokens", "1"},

	// Streams in Offline: there LoadGen does not require 459 queries for VALID.
	"calm":        {"--model", "generic", "--scenario", "Offline", "--backend", "vllm", "--stream"},
	"calm chat":   {"--model", "generic", "--scenario", "Offline", "--backend", "openai", "--api", "chat", "--stream"},
	"calm native": {"--model", "generic", "--scenario", "Offline", "--backend", "sglang", "--stream"},
}

// faultSet writes a data set whose prompts tell the server which of them to strike.
func faultSet(t *testing.T, kind string, rows int) string {
	t.Helper()
	var s strings.Builder
	for i := range rows {
		switch kind {
		case "chat", "calm chat":
			fmt.Fprintf(&s, "{\"input\":\"row %d\"}\n", 100+i)
		case "both": // the server's own template makes other tokens from the text
			fmt.Fprintf(&s, "{\"input\":\"row %d\",\"tok_input\":[%d,5,6,7]}\n", 100+i, 100+i)
		default:
			fmt.Fprintf(&s, "{\"tok_input\":[%d,5,6]}\n", 100+i)
		}
	}
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(s.String()), 0o644))
	return path
}

// faultRun does a run of 32 queries against a server.
func faultRun(t *testing.T, kind string, urls []string, args ...string) *ran {
	t.Helper()
	return askedRun(t, kind, urls, append([]string{"--no-preflight-query"}, args...)...)
}

// askedRun is faultRun with the preflight's query, which finds out whether answers carry ids. The query has a struck
// prompt.
func askedRun(t *testing.T, kind string, urls []string, args ...string) *ran {
	t.Helper()
	all := append([]string{"--served-model", "m", "--dataset", faultSet(t, kind, 16), "--endpoint",
		strings.Join(urls, ","), "--min-queries", "32", "--min-duration", "0",
		"--max-tokens", strconv.Itoa(goodTokens)}, kinds[kind]...)
	return start(t, append(all, args...)...)
}

// TestFaults strikes a quarter of the samples with each fault of the table. Only these fail, with the row's code, and
// none of their tokens is counted. LoadGen gets every sample once, and the run is INVALID with exit 1.
func TestFaults(t *testing.T) {
	program(t)
	for _, row := range faultRows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.happens(t, serveFaults(t, row.reply))
		})
	}
}

// TestFaultsOverTLS is TestFaults over TLS 1.2 and 1.3 in turn.
func TestFaultsOverTLS(t *testing.T) {
	program(t)
	trusted, authority := certificate(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, authority, 0o644))
	for i, row := range faultRows {
		version := []uint16{tls.VersionTLS12, tls.VersionTLS13}[i%2]
		t.Run(row.name+", "+tls.VersionName(version), func(t *testing.T) {
			t.Parallel()
			row.args = append(slices.Clone(row.args), "--ca-file", file)
			row.happens(t, serveFaultsOver(t, &tls.Config{Certificates: []tls.Certificate{trusted}, MinVersion: version,
				MaxVersion: version}, row.reply))
		})
	}
}

// happens runs the row's fault and checks the samples, the record and the end of the run.
func (row faultRow) happens(t *testing.T, server *faultServer) {
	t.Helper()
	r := faultRun(t, row.kind, []string{server.url}, row.args...)
	log := requestsOf(t, r)
	struck, next := int64(0), int64(0)
	for _, e := range log.Entries {
		reason := log.Names.Reason(&e)
		switch hit := (100+e.Index)%faultEvery == 0; {
		case hit && row.want != backends.OK:
			struck++
			require.Equal(t, row.want, reason, "sample %d", e.Seq)
		case slices.Contains(row.next, reason):
			next++
		default:
			require.Empty(t, reason, "sample %d, which nothing struck", e.Seq)
		}
	}
	r.holdsTogether(t, log)
	if next > 0 {
		r.isInvalid(t, record.CodeFailedSamples)
		return
	}
	r.requireReported(t, row, struck)
}

// A tolerated fault has no effect: the run is VALID with exit 0, and each answer is whole and has a first token.
func TestFaultsThatAreTolerated(t *testing.T) {
	program(t)
	for _, row := range faultRows {
		if row.want != backends.OK || row.cause != "" {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := faultRun(t, strings.TrimSpace("calm "+row.kind), []string{serveFaults(t, row.reply).url}, row.args...)
			r.holdsTogether(t, requestsOf(t, r))
			r.isValid(t)
			require.EqualValues(t, 32, r.Samples.FirstTokens)
			require.EqualValues(t, 32*goodTokens, r.Tokens.Output)
			require.Equal(t, ledger.TokensFromIDs, r.Tokens.Source)
		})
	}
}

// isValid requires the verdict VALID, exit code 0 and no reason against either.
func (r *ran) isValid(t *testing.T) {
	t.Helper()
	require.Empty(t, r.Reasons)
	require.Equal(t, record.Valid, r.Verdict)
	require.Zero(t, r.Exit)
	require.Zero(t, r.Samples.Failed, r.Samples.FailedByReason)
	require.Zero(t, r.LoadGen.Errors)
}

// isInvalid requires the verdict INVALID, its exit code, and a code among the reasons.
func (r *ran) isInvalid(t *testing.T, code record.Code) {
	t.Helper()
	require.Equal(t, record.Invalid, r.Verdict)
	require.Equal(t, ExitInvalid, r.Exit)
	require.True(t, r.Has(code), "%s is not in %v", code, r.Reasons)
}

// requestsOf reads a run's request log.
func requestsOf(t *testing.T, r *ran) *ledger.Test {
	t.Helper()
	log, err := ledger.ReadRequests(filepath.Join(r.Folder, record.RequestsName))
	require.NoError(t, err)
	return log
}

// holdsTogether requires that every account lists every sample once, and that no token is counted that the server did
// not send.
func (r *ran) holdsTogether(t *testing.T, log *ledger.Test) {
	t.Helper()
	require.EqualValues(t, 32, r.Samples.Issued)
	require.Equal(t, r.Samples.Issued, r.Samples.Completed)
	require.Len(t, log.Entries, 32)
	failed, tokens := int64(0), int64(0)
	for i := range log.Entries {
		e := &log.Entries[i]
		require.Equal(t, i, int(e.Seq))
		require.NotZero(t, e.DoneNS)
		if e.Succeeded() {
			tokens += int64(e.OutputTokens)
			require.EqualValues(t, goodTokens, e.OutputTokens)
		} else {
			failed++
		}
	}
	require.Equal(t, failed, r.Samples.Failed)
	require.Equal(t, tokens, r.Tokens.Output, "failed answers add no tokens")
	require.True(t, r.LoadGen.Complete, "LoadGen came to its own end")
	require.Less(t, r.Took, 4*time.Minute)
}

// requireReported requires that verdict, reasons and exit code report the fault.
func (r *ran) requireReported(t *testing.T, row faultRow, struck int64) {
	t.Helper()
	codes := map[record.Code]bool{}
	for _, c := range r.Reasons {
		codes[c.Code] = true
		require.NotEmpty(t, c.Text)
	}
	if row.want == backends.OK {
		require.Zero(t, r.Samples.Failed, r.Samples.FailedByReason)
		require.NotContains(t, codes, record.CodeFailedSamples)
		require.Zero(t, r.LoadGen.Errors)
		if row.cause != "" {
			r.isInvalid(t, row.cause)
		}
		return
	}
	require.Positive(t, struck, "the fault struck nobody: the test shows nothing")
	require.Equal(t, map[backends.Reason]int64{row.want: struck}, r.Samples.FailedByReason)
	r.isInvalid(t, record.CodeFailedSamples)
	if row.cause != "" {
		require.Contains(t, codes, row.cause)
	}
	failures, err := os.ReadFile(filepath.Join(r.Folder, record.FailuresName))
	require.NoError(t, err)
	require.Contains(t, string(failures), `"`+string(row.want)+`"`)
}
