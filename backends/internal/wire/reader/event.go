package reader

// Event is the content of one JSON document of the server: an event of a stream or a whole answer. Its slices are valid
// until the document changes or the next one is read.
type Event struct {
	Choices  int     // answers in the document; 0: none, as in a count at the end
	Index    int64   // of the last choice
	IDs      []int32 // output ids of the last choice
	HasIDs   bool    // the list of ids is present
	BadID    bool    // an id is negative or needs more than 31 bits
	Text     []byte  // text of the answer, decoded; only if it is kept
	HasText  bool    // text, content or reasoning is not empty
	Aside    bool    // there is output that is not part of the text: reasoning, tool calls
	IsCall   bool    // the output that is not part of the text is a function call, which ends a reasoning as text does
	Calls    []byte  // tool calls of the last choice, as JSON; nil: none
	Finish   []byte  // finish reason; nil: null or absent
	Why      []byte  // the server's explanation of the finish reason, escaped as in the JSON
	Prompt   int64   // tokens of the prompt; -1: absent
	Cached   int64   // tokens of the prompt that came from the server's cache; -1: absent. It belongs to Prompt
	Produced int64   // tokens of the answer so far; -1: absent
	IsError  bool    // an error object
	Message  []byte  // the error, as JSON
	Last     bool    // the answer ends here, even without [DONE]
	ID       []byte  // of the request, with the prefix and suffix of the server; empty: absent
	Model    []byte  // name of the model; empty: absent

	// MayRepeat is set if IDs and Text are either new or all of the answer so far, which Produced distinguishes.
	MayRepeat bool
	Known     int // number of first ids that equal those of the previous event
}

// Reset empties it for the next document.
func (e *Event) Reset() {
	ids, text := e.IDs[:0], e.Text[:0]
	*e = Event{}
	e.IDs, e.Text, e.Prompt, e.Cached, e.Produced = ids, text, -1, -1, -1
}

// ResetPiece empties the fields of text and ids.
func (e *Event) ResetPiece() {
	e.IDs, e.Text = e.IDs[:0], e.Text[:0]
	e.HasIDs, e.BadID, e.HasText, e.Aside, e.IsCall = false, false, false, false, false
}

// Decoder reads the documents of a protocol.
type Decoder interface {
	// Forget discards what was learned from the previous answer.
	Forget()
	// Decode reads one document into e. The error is a *ShapeError if the document is valid JSON of an unexpected form.
	Decode(doc []byte, e *Event) error
}

// Repeater is a Decoder that recognizes events which differ from an earlier one in their text and ids only.
type Repeater interface {
	// Repeat reads the event at the start of p: "data: ", a document without a line break, and an empty line. The event is
	// about choice 0 and contains text and ids only; the other fields of e are undefined. n is its length in bytes. 0
	// means that the event has another form, or is not complete, and that e is undefined.
	Repeat(p []byte, e *Event) (n int)
}

// Terms are the names of a protocol's fields, for messages.
type Terms struct {
	Count string // the field that counts the output tokens
	IDs   string // how to get token ids; follows "the answer carries no token ids: "
	Needs string // the fields that tokens can be counted by; follows "the answer has neither "
	Parts string // the fields of which an answer needs at least one, such as "choices"
}

// setCalls sets the tool calls, unless the JSON is null or an empty list.
func (e *Event) setCalls(raw []byte) {
	if string(raw) != "null" && string(raw) != "[]" {
		e.HasText, e.Aside, e.IsCall, e.Calls = true, true, true, raw
	}
}
