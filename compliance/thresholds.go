package compliance

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// maxAuditFile limits the bytes of an audit.config.
const maxAuditFile = 1 << 20

// number is a threshold and its source.
type number struct {
	value float64
	from  string
}

// threshold returns the given value, or else the value in audit.config, or else the value of the rules. If comments is
// set, text after a # is not part of a value. The official script of TEST09 removes such comments; the script of TEST07
// does not.
func (a *audit) threshold(key string, given *float64, rules float64, comments bool) (number, error) {
	if given != nil {
		return number{*given, "the value given"}, nil
	}
	if a.AuditFile != "" {
		v, found, err := readThreshold(a.AuditFile, key, comments)
		if err != nil {
			return number{}, err
		}
		if found {
			return number{v, a.AuditFile}, nil
		}
	}
	if rules != 0 {
		return number{rules, "the rules"}, nil
	}
	return number{}, fmt.Errorf("no %s given: pass the value, an audit.config with a line *.*.%s = NUMBER, or a "+
		"benchmark for which the rules have one", key, key)
}

func readThreshold(path, key string, comments bool) (float64, bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false, fmt.Errorf("read the thresholds: %w", err)
	}
	defer f.Close()
	v, found, err := parseThreshold(f, key, comments)
	if err != nil {
		return 0, false, fmt.Errorf("%s: %w", path, err)
	}
	return v, found, nil
}

// parseThreshold returns the value of the last line with the key. The official scripts skip values that are not
// numbers. This function returns an error for them, because otherwise another threshold would apply.
func parseThreshold(r io.Reader, key string, comments bool) (value float64, found bool, err error) {
	in := bufio.NewScanner(io.LimitReader(r, maxAuditFile))
	in.Buffer(nil, maxAuditFile)
	for number := 1; in.Scan(); number++ {
		line := strings.TrimSpace(in.Text())
		name, text, ok := strings.Cut(line, "=")
		parts := strings.Split(strings.TrimSpace(name), ".")
		if !ok || line[0] == '#' || len(parts) < 3 || parts[len(parts)-1] != key {
			continue
		}
		if comments {
			text, _, _ = strings.Cut(text, "#")
		}
		v, err := pyrepr.ParseFloat(text)
		if err != nil {
			return 0, false, fmt.Errorf("line %d: %s: %w; put comments on separate lines", number, key, err)
		}
		value, found = v, true
	}
	return value, found, in.Err()
}
