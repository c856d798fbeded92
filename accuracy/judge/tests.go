package judge

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits for a file of tests. The largest public rows have about 100 MB.
const (
	mostRowBytes     = 512 << 20
	mostPrivateBytes = 1 << 30
)

// testFile is LiveCodeBench's file of questions, one JSON object per line. It keeps only the positions of the rows and
// reads a row when it is needed.
type testFile struct {
	path   string
	files  []*os.File
	places map[string]place // position of each question's row, by question id
}

type place struct {
	file   int
	offset int64
	length int64
}

// question contains the tests of one program.
type question struct {
	function string   // function to call; empty: the program reads standard input and prints
	inputs   []string // arguments, one JSON value per line, or standard input
	outputs  []string
}

var errNoQuestion = errors.New("no such question")

// openTests indexes a JSONL file or every JSONL file in a folder.
func openTests(ctx context.Context, path string) (*testFile, error) {
	names := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if names, err = filepath.Glob(filepath.Join(path, "*.jsonl")); err != nil || len(names) == 0 {
			return nil, fmt.Errorf("no *.jsonl files in the tests folder %s; name LiveCodeBench's test.jsonl files or "+
				"their folder with --code-tests", path)
		}
	}
	slices.Sort(names)
	t := &testFile{path: path, places: map[string]place{}}
	for i, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reading tests: %w; name LiveCodeBench's test.jsonl files or their folder with "+
				"--code-tests", err), t.close())
		}
		t.files = append(t.files, f)
		if err := t.index(ctx, i); err != nil {
			return nil, errors.Join(err, t.close())
		}
	}
	return t, nil
}

func (t *testFile) close() error {
	var err error
	for _, f := range t.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// index records the positions of the lines in one file.
func (t *testFile) index(ctx context.Context, file int) error {
	r := bufio.NewReaderSize(t.files[file], 1<<20)
	offset := int64(0)
	for line := 1; ; line++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		id, length, err := rowID(r)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading tests from %s, line %d: %w; expected a JSON object with question_id, "+
				"public_test_cases, private_test_cases and metadata", t.files[file].Name(), line, err)
		}
		if id != "" {
			t.places[id] = place{file, offset, length}
		}
		offset += length
	}
}

// rowID reads one line and returns its question's id.
func rowID(r *bufio.Reader) (id string, length int64, err error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > mostRowBytes {
			return "", 0, fmt.Errorf("it has more than %d bytes", mostRowBytes)
		}
		if err == io.EOF && len(line) == 0 {
			return "", 0, io.EOF
		}
		if err == nil || err == io.EOF {
			break
		}
		if err != bufio.ErrBufferFull {
			return "", 0, err
		}
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return "", int64(len(line)), nil
	}
	var row struct {
		ID string `json:"question_id"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return "", 0, err
	}
	if row.ID == "" {
		return "", 0, errors.New("it has no question_id")
	}
	return row.ID, int64(len(line)), nil
}

// testCase is one test in the file.
type testCase struct {
	Input  string `json:"input"`
	Output string `json:"output"`
}

// question reads the tests of one question.
func (t *testFile) question(id string) (*question, error) {
	at, ok := t.places[id]
	if !ok {
		return nil, errNoQuestion
	}
	line := make([]byte, at.length)
	what := "its line"
	_, err := t.files[at.file].ReadAt(line, at.offset)
	var q *question
	if err == nil || err == io.EOF {
		q, what, err = parseQuestion(line)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tests of question %s from %s: %s: %w", id, t.files[at.file].Name(), what, err)
	}
	return q, nil
}

// parseQuestion parses a line of LiveCodeBench's file, public tests first. If it fails, what names the part of the line
// that is invalid.
func parseQuestion(line []byte) (q *question, what string, err error) {
	var row struct {
		Public   string `json:"public_test_cases"`
		Private  string `json:"private_test_cases"`
		Metadata string `json:"metadata"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return nil, "its line", err
	}
	var public, private []testCase
	var meta struct {
		Function string `json:"func_name"`
	}
	if err := json.Unmarshal([]byte(row.Public), &public); err != nil {
		return nil, "public_test_cases", err
	}
	if row.Private != "" {
		if private, err = privateTests(row.Private); err != nil {
			return nil, "private_test_cases", err
		}
	}
	if row.Metadata != "" {
		if err := json.Unmarshal([]byte(row.Metadata), &meta); err != nil {
			return nil, "metadata", err
		}
	}
	q = &question{function: meta.Function}
	for _, c := range append(public, private...) {
		q.inputs, q.outputs = append(q.inputs, c.Input), append(q.outputs, c.Output)
	}
	if len(q.inputs) == 0 {
		return nil, "tests", errors.New("no tests")
	}
	return q, "", nil
}

// privateTests parses tests that are either JSON, or JSON pickled as a string, compressed with zlib and encoded in
// base64.
func privateTests(text string) ([]testCase, error) {
	var cases []testCase
	if json.Unmarshal([]byte(text), &cases) == nil {
		return cases, nil
	}
	z, err := zlib.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		return nil, err
	}
	pickled, err := io.ReadAll(io.LimitReader(z, mostPrivateBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(pickled) > mostPrivateBytes:
		return nil, fmt.Errorf("they have more than %d bytes", mostPrivateBytes)
	}
	plain, err := pickledText(pickled)
	if err != nil {
		return nil, err
	}
	return cases, json.Unmarshal(plain, &cases)
}

// Opcodes of a pickle that holds one string (Python's pickletools).
const (
	opProto, opFrame, opStop, opMemoize      = 0x80, 0x95, '.', 0x94
	opShortText, opText, opLongText          = 0x8c, 'X', 0x8d
	opPut, opLongPut                    byte = 'q', 'r'
)

// pickledText returns the string in a pickle of one string. It rejects other pickles and never executes anything.
func pickledText(p []byte) (text []byte, err error) {
	sizes := map[byte]int{opProto: 1, opFrame: 8, opMemoize: 0, opShortText: 1, opText: 4, opLongText: 8, opPut: 1,
		opLongPut: 4}
	for len(p) > 0 {
		op := p[0]
		if op == opStop && text != nil {
			return text, nil
		}
		size, known := sizes[op]
		if !known || len(p) < 1+size {
			return nil, fmt.Errorf("the pickle holds more than one string (opcode %#x)", op)
		}
		argument := append(slices.Clone(p[1:1+size]), make([]byte, 8-size)...)
		p = p[1+size:]
		if op == opShortText || op == opText || op == opLongText {
			n := binary.LittleEndian.Uint64(argument)
			if text != nil || n > uint64(len(p)) {
				return nil, errors.New("the pickle is truncated")
			}
			text, p = p[:n:n], p[n:]
		}
	}
	return nil, errors.New("the pickle has no end")
}
