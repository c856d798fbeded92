package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// invalid returns the error of a text that is not valid YAML, with the line to correct.
func invalid(name string, text []byte, err error) error {
	if filepath.Ext(name) == ".json" {
		if line, problem := jsonError(text); line > 0 {
			return fmt.Errorf("%s line %d is not valid JSON: %s", name, line, problem)
		}
	}
	line, problem := yamlLine(text, err)
	if line == 0 {
		return fmt.Errorf("%s is not valid YAML: %w", name, err)
	}
	return fmt.Errorf("%s line %d is not valid YAML: %s", name, line, problem)
}

// jsonError returns the line and the error of a text that is not valid JSON; 0: it is valid.
func jsonError(text []byte) (line int, problem string) {
	var v any
	var syntax *json.SyntaxError
	if !errors.As(json.Unmarshal(text, &v), &syntax) {
		return 0, ""
	}
	at := min(max(int(syntax.Offset)-1, 0), len(text))
	return 1 + bytes.Count(text[:at], []byte("\n")), syntax.Error()
}

// numbered is the form of errors of the package yaml.
var numbered = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// opened maps errors of the package yaml about something without an end to a message. They refer to the line in which
// it begins.
var opened = map[string]string{
	"did not find expected ',' or ']'": "a bracket [ opens here and is not closed, or a comma is missing after an item",
	"did not find expected ',' or '}'": "a brace { opens here and is not closed, or a comma is missing after an item",
	"found unexpected end of stream":   "a quote opens here and is not closed",
}

// yamlLine returns the line of an error of the package yaml, and what is wrong there; 0: unknown. The package counts
// the lines of some errors from 0 and of others from 1, and names the place of the opening bracket or quote unless that
// is in the first line. An empty line in front therefore leads to it in each case.
func yamlLine(text []byte, err error) (line int, problem string) {
	m := numbered.FindStringSubmatch(err.Error())
	if m == nil {
		return 0, ""
	}
	problem = m[2]
	what, isOpen := opened[problem]
	if !isOpen {
		if line, _ = strconv.Atoi(m[1]); fromZero[problem] {
			line++
		}
		return line, problem + oddQuote(text, 1, line)
	}
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		text = text[3:]
	}
	var document yaml.Node
	shifted := yaml.Unmarshal(append([]byte("\n"), text...), &document)
	if shifted == nil {
		return 0, ""
	}
	if m = numbered.FindStringSubmatch(shifted.Error()); m == nil || m[2] != problem {
		return 0, ""
	}
	if line, _ = strconv.Atoi(m[1]); !strings.Contains(problem, "','") {
		return line - 1, what // counted from 1
	}
	return line, what + oddQuote(text, line, math.MaxInt)
}

// fromZero are the errors of the package's parser, whose lines it counts from 0.
var fromZero = map[string]bool{"did not find expected key": true, "did not find expected '-' indicator": true,
	"did not find expected node content": true, "did not find expected <document start>": true}

// oddQuote returns a remark about the first line from one to before another that has an odd number of quotes: a quote
// without an end extends to the next one.
func oddQuote(text []byte, from, before int) string {
	n := 0
	for of := range bytes.Lines(text) {
		if n++; n >= before {
			break
		}
		if n >= from && bytes.Count(of, []byte(`"`))%2 == 1 {
			return fmt.Sprintf("; line %d has a quote that may not be closed", n)
		}
	}
	return ""
}
