package datasets

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

func describe(t testing.TB, text string) (*Description, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return ReadDescription(path)
}

// Every shipped description names a known benchmark, its columns and its number of rows, and can read a data set in
// that benchmark's schema.
func TestShippedDescriptions(t *testing.T) {
	files, err := filepath.Glob("../configs/datasets/*.yaml")
	require.NoError(t, err)
	described := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			d, err := ReadDescription(file)
			require.NoError(t, err)
			require.NotEmpty(t, d.Name)
			require.NotEmpty(t, d.Text)
			m, err := models.Find(d.Model)
			require.NoError(t, err)
			described[m.Row.Name] = true
			// 990: the rows of gpt-oss-120b's audit (docs/reference/benchmarks.md#data-sets)
			parts := []int{m.Row.DatasetSamples, m.Row.AccuracyCount, 990}
			require.Contains(t, parts, d.Rows)

			for role, name := range map[string]string{roleInput: d.InputColumn, roleIDs: d.IDsColumn,
				roleTarget: d.TargetColumn} {
				require.True(t, name == "" || slices.ContainsFunc(m.Row.Columns, func(c models.Column) bool {
					return c.Role == role && slices.Contains(append([]string{c.Name}, c.Aliases...), name)
				}), "%s has no column %s of the role %s", m.Row.Name, name, role)
			}

			set := filepath.Join(t.TempDir(), "set")
			var text bytes.Buffer
			if err := (SynthSet{Row: m.Row, Samples: 8, Seed: 1}).Write(&text); err != nil {
				return // no synthetic rows exist for this benchmark
			}
			require.NoError(t, os.WriteFile(set, text.Bytes(), 0o644))
			o := ForRow(m.Row)
			plain, err := Open(set, o)
			require.NoError(t, err)
			d.Apply(&o)
			mapped, err := Open(set, o)
			require.NoError(t, err)
			require.Equal(t, plain.Samples, mapped.Samples)
		})
	}
	for _, name := range []string{"llama3.1-8b", "llama2-70b-99", "llama3.1-405b", "mixtral-8x7b", "deepseek-r1",
		"gpt-oss-120b", "qwen3-vl-235b-a22b", "qwen3.6-27b", "gptj"} {
		require.True(t, described[name], "%s has no file in configs/datasets", name)
	}
}

func TestADescriptionMapsColumns(t *testing.T) {
	d, err := describe(t, "name: mine\nfields: {input_ids_column: prompt_ids, output_column: answer, input_lens_column: "+
		"n}\nfile_format: json\ntotal_sample_count: 2\n"+
		"model_specific: {default_model_name: generic, default_dataset: all, dataset_file: set.json, max_tokens: 7}\n")
	require.NoError(t, err)
	require.Equal(t, []any{"generic", "all", "set.json", 7}, []any{d.Model, d.Dataset, d.File, d.MaxTokens})
	m, err := models.Find("generic")
	require.NoError(t, err)
	o := ForRow(m.Row)
	o.KeepTarget = true
	d.Apply(&o)
	open := func(text string) (*Dataset, error) {
		path := filepath.Join(t.TempDir(), "set.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return Open(path, o)
	}
	ds, err := open(`[{"prompt_ids":[5,6,0,0],"n":2,"answer":"a"},{"prompt_ids":[7],"n":1,"answer":"b"},{"prompt_ids":"not read"}]`)
	require.NoError(t, err)
	require.Len(t, ds.Samples, 2)
	require.Equal(t, []int32{5, 6}, ds.Samples[0].InputIDs)
	require.Equal(t, 2, ds.Samples[0].InputLen)
	require.Equal(t, "a", ds.Samples[0].Target)
	require.Empty(t, ds.Samples[0].Kept)
	for text, want := range map[string]string{
		`[{"prompt_ids":[5],"n":2,"answer":""}]`:   "found a prompt length of 2 for 1 ids",
		`[{"prompt_ids":[5],"n":0,"answer":""}]`:   "found a prompt length of 0",
		`[{"prompt_ids":[5],"n":"x","answer":""}]`: "an integer",
		`[{"prompt_ids":[5],"answer":""}]`:         `field "n"`,
		`[{"tok_input":[5],"n":1,"answer":""}]`:    `field "prompt_ids"`,
	} {
		_, err := open(text)
		require.ErrorContains(t, err, want, text)
	}

	// Options that are already set take precedence over the description.
	o = ForRow(m.Row)
	o.Overrides, o.Format, o.Limit = map[string]string{"input_ids": "ids"}, FormatCSV, 1
	d.Apply(&o)
	require.Equal(t, map[string]string{"input_ids": "ids", "target": "answer"}, o.Overrides)
	require.Equal(t, []any{FormatCSV, 1}, []any{o.Format, o.Limit})
}

func TestInvalidDescriptions(t *testing.T) {
	for text, want := range map[string]string{
		"fields: [a]": "line 1: fields: expected a map with some of input_column, input_ids_column, output_column, " +
			"input_lens_column",
		"feilds: {}":                       `line 1: feilds: unknown key; did you mean fields?`,
		"name: a\nfields:\n  input: x":     `line 3: fields.input: unknown key`,
		"name: a\nname: b":                 "line 2: name: already set in line 1",
		"total_sample_count: none":         `expected a whole number of at least 1, not "none"`,
		"total_sample_count: 0":            "at least 1",
		"file_format: xml":                 "expected one of auto, csv, json, npy, parquet, pickle, pkl",
		"model_specific: {max_tokens: []}": "not a list",
		"name: &b [x, x, x, x, x, x, x]\ndescription: &c [*b, *b, *b, *b, *b]\nfile_format: [*c, *c, *c]": "anchors",
		"name: [a": "line 1",
		"a\nb":     "not a map",
	} {
		_, err := describe(t, text)
		require.ErrorContains(t, err, want, text)
	}
	_, err := ReadDescription("nowhere.yaml")
	require.ErrorContains(t, err, "dataset config: open nowhere.yaml")
	_, err = describe(t, "")
	require.NoError(t, err)
}

func FuzzDescription(f *testing.F) {
	f.Add("name: a\nfields: {input_column: x}\nfile_format: pkl\ntotal_sample_count: 3\n")
	f.Add("model_specific:\n  max_tokens: 9\n  default_model_name: m")
	path := filepath.Join(f.TempDir(), "d.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		if d, err := ReadDescription(path); err == nil {
			var o Options
			d.Apply(&o)
			require.GreaterOrEqual(t, o.Limit, 0)
		} else {
			require.False(t, strings.HasSuffix(err.Error(), "\n"))
		}
	})
}
