package datasets

import "encoding/json"

// Sample is one record of a data set. Its position in Dataset.Samples is LoadGen's sample index.
type Sample struct {
	Index    int
	ID       string          // the record's own id where the file has one
	InputIDs []int32         // prompt as token ids; nil where the file has none
	Input    string          // prompt as text; empty where it was not kept
	InputLen int             // tokens of the prompt; 0 where unknown
	Target   string          // reference output as text; empty where the file has none
	Messages json.RawMessage // chat messages where the file has them
	Kept     []string        // values of Options.Keep, in its order; empty where the record has none
}

// Dataset is a data set in memory.
type Dataset struct {
	Path    string // as given; empty for one made in memory
	SHA256  string // of the file's bytes, lower-case hex
	Schema  string // models.Schema name it was read with
	Format  string // what the file is, for people, such as "JSON Lines, gzip"; empty for one made in memory
	Samples []Sample
	Notes   []string // what a user should know of how the file was read, a sentence each
}
