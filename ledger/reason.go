package ledger

import "strings"

// Reason is the failure code of a sample in failed_by_reason of run.json. The empty Reason is success. An HTTP status
// other than 200 has the code http_<status>.
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

// TokenSource is the source of an answer's token count.
type TokenSource string

// Token sources, the most reliable one first.
const (
	TokensFromIDs       TokenSource = "ids"
	TokensFromUsage     TokenSource = "usage"
	TokensFromTokenizer TokenSource = "tokenizer"
)

// sourceSeparator separates the sources if answers were counted in different ways.
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
