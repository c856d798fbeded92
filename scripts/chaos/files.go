package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// record is the part of run.json that the judge reads.
type record struct {
	Verdict string `json:"verdict"`
	Reasons []struct {
		Code string `json:"code"`
		Text string `json:"text"`
	} `json:"reasons"`
	LoadGen struct {
		Complete bool `json:"complete"`
	} `json:"loadgen"`
	Samples struct {
		Issued    int            `json:"issued"`
		Completed int            `json:"completed"`
		Failed    int            `json:"failed"`
		Retried   int            `json:"retried"`
		ByReason  map[string]int `json:"failed_by_reason"`
	} `json:"samples"`
	Endpoints []struct {
		Retried int `json:"retried"`
	} `json:"endpoints"`
	Tokens struct {
		Input  int `json:"input"`
		Output int `json:"output"`
	} `json:"tokens"`
}

// repeats is the number of attempts beyond the first, at all endpoints.
func (r *record) repeats() (n int) {
	for _, e := range r.Endpoints {
		n += e.Retried
	}
	return n
}

// sample is a line of the request log.
type sample struct {
	Index   int    `json:"index"`
	Input   int    `json:"input_tokens"`
	Output  int    `json:"output_tokens"`
	Retries int    `json:"retries"`
	Reason  string `json:"reason"`
	DoneNS  int64  `json:"done"` // 0: outstanding when the run ended
}

// answered is an entry of the accuracy log.
type answered struct {
	Index int    `json:"qsl_idx"`
	Data  string `json:"data"`
}

// result is the output of a trial.
type result struct {
	record   *record // nil: no run.json
	invalid  error   // of run.json against its schema
	samples  []sample
	answers  []answered
	attempts int // lines of failures.jsonl
	files    []string
	stale    bool // the folder has the record of the earlier run
}

// readResult reads a run's folder.
func readResult(folder string, form *jsonschema.Schema) (*result, error) {
	r := &result{}
	text, err := os.ReadFile(filepath.Join(folder, "run.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if string(text) == earlier["run.json"] {
		return &result{stale: true}, nil
	}
	if err == nil {
		r.record = &record{}
		if err := json.Unmarshal(text, r.record); err != nil {
			return nil, fmt.Errorf("run.json: %w", err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		r.invalid = form.Validate(document)
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			r.files = append(r.files, strings.TrimPrefix(path, folder+"/"))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if r.samples, err = readRequests(folder); err != nil {
		return nil, err
	}
	if text, err := os.ReadFile(filepath.Join(folder, "failures.jsonl")); err == nil {
		r.attempts = bytes.Count(text, []byte("\n"))
	}
	if text, err := os.ReadFile(filepath.Join(folder, "mlperf", "mlperf_log_accuracy.json")); err == nil &&
		r.record != nil && len(text) > 0 {
		if err := json.Unmarshal(text, &r.answers); err != nil && r.record.LoadGen.Complete {
			return nil, fmt.Errorf("the accuracy log: %w", err)
		}
	}
	return r, nil
}

// readRequests reads the request log, whatever its compression.
func readRequests(folder string) ([]sample, error) {
	var in io.Reader
	if f, err := os.Open(filepath.Join(folder, "requests.jsonl.zst")); err == nil {
		defer f.Close()
		z, err := zstd.NewReader(f)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		in = z
	} else if f, err := os.Open(filepath.Join(folder, "requests.jsonl.gz")); err == nil {
		defer f.Close()
		if in, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	} else {
		return nil, nil
	}
	var list []sample
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("the request log: %w", err)
		}
		list = append(list, s)
	}
	return list, lines.Err()
}

// schemaOf compiles a JSON schema.
func schemaOf(path string) (*jsonschema.Schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(path, document); err != nil {
		return nil, err
	}
	return c.Compile(path)
}

// logged returns an answer as the accuracy log records it: token ids in four bytes each, or text.
func (s *scenario) logged(p part) string {
	if s.Protocol.Model == textModel {
		return strings.ToUpper(hex.EncodeToString([]byte(p.text())))
	}
	b := []byte{}
	for _, id := range p.ids {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return strings.ToUpper(hex.EncodeToString(b))
}
