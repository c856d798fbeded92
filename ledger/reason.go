package ledger

import "strings"

// Reason is the code of a failed sample, as failed_by_reason of run.json lists it. The empty Reason is success. Answers
// with another HTTP status than 200 have the codes http_<status>.
type Reason string

// The failure reasons.
const (
	OK                   Reason = ""
	FailConnect          Reason = "connect"
	FailTLS              Reason = "tls"
	FailFirstToken       Reason = "timeout_first_token"
	FailBetweenTokens    Reason = "timeout_between_tokens"
	FailRequestTimeout   Reason = "timeout_request"
	FailReset            Reason = "reset"
	FailTruncated        Reason = "truncated"
	FailBadChunk         Reason = "bad_chunk"
	FailBadJSON          Reason = "bad_json"
	FailBadEvent         Reason = "bad_event"
	FailServerErrorEvent Reason = "server_error_event"
	FailAborted          Reason = "aborted"
	FailEmpty            Reason = "empty"
	FailTooShort         Reason = "too_short"
	FailTooLarge         Reason = "too_large"
	FailNoFirstToken     Reason = "no_first_token"
	FailTokenCount       Reason = "token_count_mismatch"
	FailCancelled        Reason = "cancelled"
	FailNoEndpoint       Reason = "no_endpoint"
	FailBatch            Reason = "batch_mismatch"
	FailWrongAnswer      Reason = "wrong_answer"
	FailWrongModel       Reason = "wrong_model"
	FailUnsent           Reason = "unsent"
)

// TokenSource is where an answer's token count comes from.
type TokenSource string

// Token sources, the most reliable one first.
const (
	TokensFromIDs       TokenSource = "ids"
	TokensFromUsage     TokenSource = "usage"
	TokensFromTokenizer TokenSource = "tokenizer"
)

// sourceSeparator joins the sources of answers that were counted differently.
const sourceSeparator = "+"

// JoinSources returns the sources as one value, such as "ids+usage".
func JoinSources(sources []TokenSource) TokenSource {
	var joined TokenSource
	for i, s := range sources {
		if i > 0 {
			joined += sourceSeparator
		}
		joined += s
	}
	return joined
}

// Includes reports whether s is the given source, or was joined from it and others.
func (s TokenSource) Includes(source TokenSource) bool {
	for one := range strings.SplitSeq(string(s), sourceSeparator) {
		if TokenSource(one) == source {
			return true
		}
	}
	return false
}
