package reader

// Event is what one JSON document of the server says, an event of a stream or a whole answer. Its slices are valid as
// long as the document is, and until the next document.
type Event struct {
	Choices  int     // answers in the document; 0: it is about none, such as a count at the end
	Index    int64   // of the last choice
	IDs      []int32 // output ids of the last choice
	HasIDs   bool    // the list of ids was there
	BadID    bool    // one id does not fit into 31 bits or is negative
	Text     []byte  // text of the answer, decoded; only where it is wanted
	HasText  bool    // text, content or reasoning was not empty
	Aside    bool    // there was output that is no part of the text: reasoning, tool calls
	Calls    []byte  // tool calls of the last choice, as JSON; nil: none
	Finish   []byte  // finish reason; nil: null or not there
	Why      []byte  // what the server said to its finish reason, as it stands in the JSON
	Prompt   int64   // tokens of the prompt; -1: not there
	Produced int64   // tokens of the answer so far; -1: not there
	IsError  bool    // an error object
	Message  []byte  // the error, as JSON
	Last     bool    // no event follows, whatever else comes
	ID       []byte  // of the request, with what the server puts around it; empty: not there
	Model    []byte  // name of the model; empty: not there

	// Running says that IDs and Text are either new or all of the answer so far: Produced tells which.
	Running bool
	Known   int // so many first ids are those of the event before
}

// Reset empties it for the next document.
func (e *Event) Reset() {
	ids, text := e.IDs[:0], e.Text[:0]
	*e = Event{}
	e.IDs, e.Text, e.Prompt, e.Produced = ids, text, -1, -1
}

// ResetPiece empties it for text and ids alone.
func (e *Event) ResetPiece() {
	e.IDs, e.Text = e.IDs[:0], e.Text[:0]
	e.HasIDs, e.BadID, e.HasText, e.Aside = false, false, false, false
}

// Decoder reads the documents of a protocol.
type Decoder interface {
	// Forget drops what was learned from the answer before.
	Forget()
	// Decode reads one document into e. Its error is a *ShapeError where the document is JSON of another shape.
	Decode(doc []byte, e *Event) error
}

// Repeater is what a Decoder may also be: one that knows the ordinary events of an answer but for what changes in them.
type Repeater interface {
	// Repeat reads the event with which p, bytes of a stream between two events, begins: "data: ", a document without a
	// line break, and an empty line. It is about choice 0 and says nothing but text and ids; the other fields of e are
	// void. n are its bytes; 0: it is of no known form, or not all of it is in p, and e is void.
	Repeat(p []byte, e *Event) (n int)
}

// Words are what a protocol calls its parts, for sentences.
type Words struct {
	Count string // the field that counts the output tokens
	IDs   string // how to get token ids, as a clause behind "the answer carries no token ids: "
	Needs string // what an answer can be counted by
	Parts string // what an answer consists of: "choices"
}

// called notes tool calls, as JSON, where there are any.
func (e *Event) called(raw []byte) {
	if string(raw) != "null" && string(raw) != "[]" {
		e.HasText, e.Aside, e.Calls = true, true, raw
	}
}
