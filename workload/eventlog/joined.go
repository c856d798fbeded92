package eventlog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"runtime"
)

// Joined writes one file with the requests of other files. It copies their blocks as they are. A section record in
// front of them moves their times.
type Joined struct {
	file    *os.File
	startNS int64 // of the last section
	count   int64
	scratch []byte
}

// Join starts a new file. It is an error if there is one.
func Join(path string, h Header) (*Joined, error) {
	f, err := create(path, h)
	if err != nil {
		return nil, err
	}
	return &Joined{file: f, startNS: h.StartNS}, nil
}

// Add appends the requests of a file whose clock is ahead by aheadNS. The functions get each of them, as Read passes
// them, with their times in the clock of the joined file. After an error the file has some of them.
func (j *Joined) Add(path string, aheadNS int64, each ...func(*Header, *Request) error) (*End, error) {
	return readFile(path, func(f *os.File) (*End, error) {
		return readBlocks(f, options{workers: runtime.GOMAXPROCS(0), aheadNS: aheadNS, whole: j.copy}, each)
	})
}

// copy writes a block.
func (j *Joined) copy(k *block) error {
	j.scratch = j.scratch[:0]
	if k.startNS != j.startNS {
		section := binary.LittleEndian.AppendUint64(nil, uint64(k.startNS))
		j.scratch = appendRecord(j.scratch, kindSection, section)
	}
	j.scratch = append(j.scratch, k.raw...)
	if _, err := j.file.Write(j.scratch); err != nil {
		return err
	}
	j.startNS = k.startNS
	j.count += k.requests
	return nil
}

// Close appends the end record and closes the file.
func (j *Joined) Close(e End) error {
	e.Requests = j.count
	text, err := json.Marshal(e)
	if err == nil {
		_, err = j.file.Write(appendRecord(nil, kindEnd, text))
	}
	if err == nil {
		err = j.file.Sync()
	}
	return errors.Join(err, j.file.Close())
}
