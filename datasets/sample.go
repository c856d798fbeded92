package datasets

import (
	"encoding/json"

	"github.com/mlperf-go/mlperf-go/internal/spill"
)

// Sample is one record of a data set. Its position in Dataset.Samples is LoadGen's sample index.
type Sample struct {
	Index             int
	ID                string          // the record's own id where the file has one
	Session           string          // what the rows that belong together share; empty where no column was named for it
	InputIDs          []int32         // prompt as token ids; nil where the file has none
	Input             string          // prompt as text; empty where it was not kept
	InputLen          int             // tokens of the prompt; 0 where unknown
	Target            string          // reference output as text; empty where the file has none
	Messages          json.RawMessage // chat messages, without blanks: the file's own, or made of its raw fields
	Tools, ToolChoice json.RawMessage // of a chat request, where the file has them
	MessageBytes      int             // size of Messages, also where they were not kept
	ImageBytes        int             // size of the image file that Messages carry in base64
	Kept              []string        // values of Options.Keep, in its order; empty where the record has none
}

// Dataset is a data set in memory.
type Dataset struct {
	Path    string // as given; empty for one made in memory
	SHA256  string // of the file's bytes, lower-case hex
	Schema  string // models.Schema name it was read with
	Format  string // what the file is, for people, such as "JSON Lines, gzip"; empty for one made in memory
	Samples []Sample
	Store   *spill.Store // where messages are kept, Options.Store; nil: there are none, or they are in memory
	Notes   []string     // what a user should know of how the file was read, a sentence each

	// prompts that were made of raw fields without a prompt template: their wording is not the benchmark's
	WithoutTemplate int

	blocks []*spill.Block // of Store, by sample: where its messages stand
	marked bool           // a record has the mark of a synthetic set
}

// MoveMessages has a sample's messages be another copy of them, which its caller keeps in the same store, and frees
// their first one: so a request and the messages in it are held once. False: they have no place of their own in a
// store, and nothing has changed.
func (d *Dataset) MoveMessages(index int, to []byte) bool {
	if d.Store == nil || index >= len(d.blocks) || d.blocks[index] == nil {
		return false
	}
	d.Samples[index].Messages = to[:len(to):len(to)]
	d.Store.Drop(d.blocks[index])
	d.blocks[index] = nil
	return true
}
