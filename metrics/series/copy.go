package series

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// Copy copies a file into another folder, which it creates, and moves all of its times.
func Copy(access atomicfile.Access, from, to string, by time.Duration) error {
	in, err := atomicfile.OpenLines(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), access.Folder()); err != nil {
		return err
	}
	out, err := access.CreateLines(to)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for first := true; err == nil && lines.Scan(); first = false {
		text := lines.Bytes()
		if first {
			text, err = moved(text, by)
		}
		if err == nil {
			err = out.AppendRaw(text)
		}
	}
	if err == nil {
		err = lines.Err()
	}
	if err != nil {
		out.Abort()
		return fmt.Errorf("copying the metrics in %s: %w", from, err)
	}
	return out.Close()
}

// moved returns the first line of a file with another start.
func moved(text []byte, by time.Duration) ([]byte, error) {
	var h Header
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, err
	}
	h.Started = h.Started.Add(by)
	return json.Marshal(h)
}
