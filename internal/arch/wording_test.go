package arch

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

// The wording of a benchmark's prompts belongs to the benchmark. The repository contains none of it: prompts come from
// a data set or from a template that the user names.

// shingle is the number of consecutive words that two texts must share to count as the same wording.
const shingle = 7

// answerField occurs in the answer's JSON schema in the registry, which contains names of fields but no wording of a
// prompt. withAnswerField are the files with this schema: the registry, and the record of its values.
const answerField = "secondhand"

var withAnswerField = []string{"qwen.go", "rows.txt"}

// shingles returns the runs of consecutive words of a text, in lower case and without punctuation.
func shingles(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '\'') })
	var list []string
	for i := 0; i+shingle <= len(words); i++ {
		list = append(list, strings.Join(words[i:i+shingle], " "))
	}
	return list
}

// TestTheRepositoryContainsNoRecordedPrompt searches every text file for seven consecutive words of a benchmark's
// recorded prompts.
func TestTheRepositoryContainsNoRecordedPrompt(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(golden.Dir(t, "accuracy"), "prompts.json"))
	require.NoError(t, err)
	var recorded any
	require.NoError(t, json.Unmarshal(b, &recorded))
	known := map[string]bool{}
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case string:
			for _, s := range shingles(v) {
				known[s] = true
			}
		case []any:
			for _, e := range v {
				collect(e)
			}
		case map[string]any:
			for key, e := range v {
				if key != "note" && key != "description" && key != "source" { // text about the recording, not part of a prompt
					collect(e)
				}
			}
		}
	}
	collect(recorded.(map[string]any)["cases"])
	require.Greater(t, len(known), 100, "the recording has prompts")
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (strings.HasPrefix(e.Name(), ".") && name != root || e.Name() == "third_party" || e.Name() == "bin") {
			return fs.SkipDir
		}
		if !slices.Contains([]string{".go", ".md", ".yaml", ".yml", ".json", ".txt", ".txtar", ".py", ".sh", ".conf"},
			filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files++
		for _, s := range shingles(string(text)) {
			if known[s] && !(strings.Contains(s, answerField) && slices.Contains(withAnswerField, filepath.Base(name))) {
				t.Errorf("%s has %q, which stands in a benchmark's prompt", name, s)
			}
		}
		return nil
	}))
	require.Greater(t, files, 500)
}

// toAModel matches phrases that address a model and never a user of this program.
var toAModel = regexp.MustCompile(`(?i)\b(you are an? |your (task|response|answer) (is|should|must)|think step by step|summari[sz]e the|answer the (following|question)|solve the following|respond (only )?with|the following (question|article|problem|product)|below is an instruction)`)

// word matches a word of a sentence.
var word = regexp.MustCompile(`(^|\s)[A-Za-z]+[.,:;]?(\s|$)`)

// field matches a placeholder for a row's own text in a prompt.
var field = regexp.MustCompile(`\{[a-z_]{3,}\}`)

// TestNoSourceSpeaksToAModel rejects literals that address a model, and long texts with placeholders for fields,
// because both would be prompts. It needs no recordings.
func TestNoSourceSpeaksToAModel(t *testing.T) {
	for _, s := range sources(t) {
		if below(s.pkg, "scripts") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			value, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			require.False(t, toAModel.MatchString(value), "%s speaks to a model: %q", s.at(n), value)
			require.False(t, field.MatchString(value) && len(word.FindAllString(value, -1)) > 12 && !below(s.pkg, "cmd"),
				"%s looks like a prompt template: %q", s.at(n), value)
			return true
		})
	}
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "configs"), func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err == nil && toAModel.Match(text) {
			t.Errorf("%s speaks to a model: %q", name, toAModel.Find(text))
		}
		return err
	}))
}
