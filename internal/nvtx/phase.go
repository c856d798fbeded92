package nvtx

// Phase is a part of a request. nvtx.h has the same numbers, and the names of the ranges.
type Phase int32

// The phases of a sample, in their order. Issue, the first, and the flush of a test belong to LoadGen's thread.
const (
	End        Phase = 0 // no range is open
	Send       Phase = 2 // the client took the sample, and writes its request
	FirstToken Phase = 3 // the request of a stream was written
	Stream     Phase = 4 // the first token has arrived
	Answer     Phase = 5 // a request was written whose answer is not a stream
	Complete   Phase = 6 // the answer has arrived and is being reported to LoadGen
)
