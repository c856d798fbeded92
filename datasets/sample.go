package datasets

import (
	"encoding/json"
)

// Sample is one record of a data set. Its index in Dataset.Samples is LoadGen's sample index.
type Sample struct {
	Index             int
	ID                string          // id of the record; empty if it has none
	Session           string          // shared by the records of one session; empty if no column was named for it
	InputIDs          []int32         // prompt as token ids; nil if the file has none
	Input             string          // prompt as text; empty if it was not kept
	Plain             bool            // Input is known to be plain (quote.IsPlain); false: unknown
	InputLen          int             // number of tokens in the prompt; 0 if unknown
	Target            string          // reference output as text; may be empty
	Messages          json.RawMessage // chat messages without white space, from the file or composed from raw fields
	Tools, ToolChoice json.RawMessage // tools and tool_choice of a chat request; may be nil
	Documents         []string        // passages that a rerank request compares with Input
	MessageBytes      int             // size of Messages in bytes, even if they were not kept
	ImageBytes        int             // size in bytes of the image file that Messages contain in base64
	Kept              []string        // values of Options.Keep, in its order; empty if the record has none
}

// Dataset is a data set in memory.
type Dataset struct {
	Path    string // path as given to Open; empty for a data set made in memory
	SHA256  string // SHA-256 of the file's bytes in lower-case hex
	Schema  string // name of the schema with which the file was read
	Format  string // format for display, such as "JSON Lines, gzip"; empty for a data set made in memory
	Samples []Sample
	Store   Store    // Options.Store if it holds the messages; else nil
	Notes   []string // remarks for users about how the file was read, one sentence each

	// number of prompts composed from raw fields without a prompt template; their wording differs from the benchmark's
	WithoutTemplate int

	free   []func() // functions that free a sample's messages in Store, by sample
	marked bool     // whether a record has the mark of a synthetic set
}

// Store keeps messages outside of Go's heap.
type Store interface {
	// Keep copies messages. It returns the copy and a function that frees it.
	Keep(messages []byte) (kept []byte, free func(), err error)
	Close() error
}

// MoveMessages replaces a sample's messages by another copy of them and frees the old one in the store, so that a
// request and the messages inside it occupy memory once. It returns false, and changes nothing, if the messages are not
// in a store.
func (d *Dataset) MoveMessages(index int, to []byte) bool {
	if d.Store == nil || index >= len(d.free) || d.free[index] == nil {
		return false
	}
	d.Samples[index].Messages = to[:len(to):len(to)]
	d.free[index]()
	d.free[index] = nil
	return true
}
