package ledger

// Entry records one sample. Times are wall-clock times in ns since 1970; 0: the event did not happen.
type Entry struct {
	Seq, Index   int32
	Endpoint     int16
	Retries      uint16
	Reason       Code // failure reason as an index into Names.Reasons; 0: success, or not ended
	Source       Code // source of the output count as an index into Names.Sources; 0: not ended
	Finish       Code // finish reason as an index into Names.Finishes; 0: the server sent none
	InputTokens  int32
	OutputTokens int32
	Events       int32 // number of stream events with tokens
	Merged       int32 // number of stream events with more than one token
	IssuedNS     int64
	DequeuedNS   int64
	SentNS       int64
	FirstByteNS  int64
	FirstTokenNS int64
	LastTokenNS  int64
	ReadableNS   int64 // earliest time at which the last token's bytes could be read
	DoneNS       int64
}

// Succeeded reports whether the sample ended with an answer.
func (e *Entry) Succeeded() bool { return e.DoneNS != 0 && e.Reason == 0 }

// Completion describes how a sample ended. Unknown counts are 0 or less.
type Completion struct {
	Reason       Reason
	Source       TokenSource // source of OutputTokens
	FinishReason string      // finish reason as the server sent it
	Endpoint     int
	Retries      int
	InputTokens  int
	OutputTokens int
	Events       int // number of stream events with tokens
	Merged       int // number of stream events with more than one token
	DequeuedNS   int64
	SentNS       int64
	FirstByteNS  int64
	FirstTokenNS int64 // time of the first token; used if FirstToken was not called before
	LastTokenNS  int64
	ReadableNS   int64
	DoneNS       int64 // time at which the sample was reported to LoadGen as complete; Hold ignores it
}
