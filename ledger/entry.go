package ledger

// Entry records one sample. Times are wall clock, ns since 1970; 0: did not happen.
type Entry struct {
	Seq, Index   int32
	Endpoint     int16
	Retries      uint16
	Reason       Code // index into Names.Reasons; 0: success, or not ended
	Source       Code // index into Names.Sources; 0: not ended
	Finish       Code // index into Names.Finishes; 0: the server sent none
	InputTokens  int32
	OutputTokens int32
	Events       int32 // events of a stream with tokens
	Merged       int32 // events with more than one token
	IssuedNS     int64
	DequeuedNS   int64
	SentNS       int64
	FirstByteNS  int64
	FirstTokenNS int64
	LastTokenNS  int64
	ReadableNS   int64 // earliest time at which the last token's bytes can have been there
	DoneNS       int64
}

// Succeeded reports whether the sample ended with an answer.
func (e *Entry) Succeeded() bool { return e.DoneNS != 0 && e.Reason == 0 }

// Completion describes how a sample ended. Unknown counts are 0 or less.
type Completion struct {
	Reason       Reason
	Source       TokenSource // of OutputTokens
	FinishReason string      // the server's word for how the answer ended
	Endpoint     int
	Retries      int
	InputTokens  int
	OutputTokens int
	Events       int // of a stream, that brought tokens
	Merged       int // of them, with more than one token
	DequeuedNS   int64
	SentNS       int64
	FirstByteNS  int64
	FirstTokenNS int64 // used if FirstToken was not called before
	LastTokenNS  int64
	ReadableNS   int64
	DoneNS       int64 // when the sample was completed to LoadGen
}
