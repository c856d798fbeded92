package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/mlperf-go/mlperf-go/backends/llamacpp"
	_ "github.com/mlperf-go/mlperf-go/backends/ollama"
	_ "github.com/mlperf-go/mlperf-go/backends/openai"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// file writes text to a temporary file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// synthetic writes a synthetic set of the benchmark and returns its path.
func synthetic(t *testing.T, n int) string {
	t.Helper()
	m, err := models.Find("llama3.1-8b")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "d.json")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, datasets.SynthSet{Row: m.Row, Samples: n, Seed: 1}.Write(f))
	require.NoError(t, f.Close())
	return path
}

func unbound(t *testing.T, more ...string) *Plan {
	t.Helper()
	s := Settings{"model": "llama3.1-8b"}
	for i := 0; i < len(more); i += 2 {
		s[more[i]] = more[i+1]
	}
	p, err := New(s)
	require.NoError(t, err)
	return p
}

// A file is read once, and a synthetic data set makes the run a rehearsal, whoever wrote the file.
func TestADataSetIsReadOnce(t *testing.T) {
	path := synthetic(t, 6)
	p := unbound(t, "dataset", path, "samples", "4", "endpoint", "http://a:1")
	first, err := p.ReadDataset()
	require.NoError(t, err)
	require.Len(t, first.Samples, 4)
	again, err := p.ReadDataset()
	require.NoError(t, err)
	require.Same(t, first, again)
	require.NoError(t, p.Bind(4))
	require.Contains(t, p.Rehearsal, "the data set is synthetic")
	require.Contains(t, p.Causes, "the data set "+path+" (the data set is synthetic)")
	longest := 0
	for _, s := range first.Samples {
		longest = max(longest, s.InputLen)
	}
	require.Equal(t, longest, p.LongestPrompt())

	inMemory := unbound(t, "endpoint", "http://a:1")
	inMemory.Dataset = first
	_, err = inMemory.ReadDataset()
	require.NoError(t, err)
	require.NoError(t, inMemory.Bind(4))
	require.Contains(t, inMemory.Rehearsal, "the data set is synthetic")

	p = unbound(t, "dataset", path+"x")
	_, err = p.ReadDataset()
	require.ErrorIs(t, err, os.ErrNotExist)
	template := file(t, "t.txt", "{input}")
	p = unbound(t, "dataset", path, "prompt-template", template)
	require.NoError(t, os.Remove(template))
	_, err = p.ReadDataset()
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The longest prompt is that of the rows that are used; it is not known without rows or without token ids.
func TestTheLongestPrompt(t *testing.T) {
	p := unbound(t)
	require.Zero(t, p.LongestPrompt())
	for _, c := range []struct {
		lengths []int
		want    int
	}{{nil, 0}, {[]int{0, 0}, 0}, {[]int{1}, 1}, {[]int{3, 7, 2}, 7}, {[]int{9, 7}, 9}, {[]int{1, 9}, 9}} {
		ds := &datasets.Dataset{}
		for _, n := range c.lengths {
			ds.Samples = append(ds.Samples, datasets.Sample{InputLen: n})
		}
		p.Dataset, p.file = ds, nil
		require.Equal(t, c.want, p.LongestPrompt(), "%v in memory", c.lengths)
		p.Dataset, p.file = nil, ds
		require.Equal(t, c.want, p.LongestPrompt(), "%v in a file", c.lengths)
	}
}

// Tests of a campaign share a data set that they would read in the same way.
func TestWhenADataSetIsShared(t *testing.T) {
	path := synthetic(t, 4)
	reader := unbound(t, "dataset", path)
	ds, err := reader.ReadDataset()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		plan   *Plan
		shared bool
	}{
		"another scenario":  {unbound(t, "dataset", path, "scenario", "Server"), true},
		"fewer samples":     {unbound(t, "dataset", path, "samples", "2"), false},
		"another file":      {unbound(t, "dataset", synthetic(t, 4)), false},
		"another column":    {unbound(t, "dataset", path, "input-column", "instruction"), false},
		"another benchmark": {unbound(t, "dataset", path, "model", "llama2-70b-99"), false},
	} {
		c.plan.ShareDataset(nil)
		require.Nil(t, c.plan.file, name)
		c.plan.ShareDataset(unbound(t, "dataset", path))
		require.Nil(t, c.plan.file, "nothing was read yet")
		c.plan.ShareDataset(reader)
		require.Equal(t, c.shared, c.plan.file == ds, name)
		require.Equal(t, c.shared, c.plan.synthetic, name)
	}
}

// Scoring needs the columns of the references, under the names that the file has for them.
func TestColumnsThatScoringNeeds(t *testing.T) {
	path := file(t, "d.json", `[{"tok_input": [128000, 300, 400], "input": "hello there", "answer": "Hi."}]`)
	kept := func(scoring *Scoring, more ...string) []string {
		p := unbound(t, append([]string{"dataset", path, "output-column", "answer"}, more...)...)
		p.Scoring = scoring
		ds, err := p.ReadDataset()
		require.NoError(t, err)
		return ds.Samples[0].Kept
	}
	require.Equal(t, []string{"Hi."}, kept(&Scoring{}, "mode", "accuracy"))
	require.Empty(t, kept(&Scoring{}))
	require.Empty(t, kept(nil, "mode", "accuracy"))
}

// A row's text is read along with its token ids only if requests may carry it.
func TestWhichRequestsCarryText(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		text     bool
	}{
		"the server is still to be asked": {[]string{"endpoint", "http://a:1"}, true},
		"the simulator":                   {[]string{"backend", "sim", "api", "completions"}, false},
		"ids to vLLM": {[]string{"endpoint", "http://a:1", "backend", "vllm", "api", "completions"},
			false},
		"a server of text alone": {[]string{"endpoint", "http://a:1", "backend", "ollama"}, true},
		"an unknown backend":     {[]string{"endpoint", "http://a:1", "backend", "other", "api", "chat"}, false},
		"chat to vLLM":           {[]string{"endpoint", "http://a:1", "backend", "vllm", "api", "chat"}, true},
	} {
		require.Equal(t, c.text, unbound(t, c.settings...).SendsText(), name)
	}
}

// A description of a data set fills the settings that are not set.
func TestDescriptionOfADataSet(t *testing.T) {
	path := file(t, "d.json", `[{"tok_input": [128000, 300, 400], "question": "hello there", "output": "Hi."}]`)
	description := file(t, "d.yaml", "name: d\nfile_format: json\nmodel_specific:\n  default_model_name: llama3.1-8b\n"+
		"  dataset_file: "+path+"\n  max_tokens: 33\nfields:\n  input_column: question\n")
	p, err := New(Settings{"dataset-config": description, "endpoint": "http://a:1"})
	require.NoError(t, err)
	ds, err := p.ReadDataset()
	require.NoError(t, err)
	require.Equal(t, "hello there", ds.Samples[0].Input, "the columns are those of the description")
	require.Equal(t, "llama3.1-8b", p.Row.Name)
	require.Equal(t, path, p.Config.String("dataset"))
	require.Equal(t, 33, p.Config.Int("max-tokens"))
	require.Equal(t, description, p.Config.Origin("max-tokens").Where)
	p, err = New(Settings{"dataset-config": description, "model": "llama2-70b-99", "max-tokens": "44", "dataset": "e"})
	require.NoError(t, err)
	require.Equal(t, "llama2-70b-99", p.Row.Name)
	require.Equal(t, "e", p.Config.String("dataset"))
	require.Equal(t, 44, p.Config.Int("max-tokens"))
	c := config.New(config.RunSettings())
	require.NoError(t, c.LoadYAML("a.yaml", strings.NewReader("dataset-config: "+description+"\nmodel: llama2-70b-99\n"+
		"max-tokens: 44\ndataset: e\nendpoint: http://a:1\n")))
	p, err = Resolve(c)
	require.NoError(t, err)
	require.Equal(t, "llama2-70b-99", p.Row.Name, "a file of settings comes first, too")
	require.Equal(t, "e", p.Config.String("dataset"))
	require.Equal(t, 44, p.Config.Int("max-tokens"))
	p, err = New(Settings{"dataset-config": file(t, "d.yaml", "name: d\n"), "model": "llama3.1-8b"})
	require.NoError(t, err)
	require.False(t, p.Config.IsSet("max-tokens"), "the description has none")
	_, err = New(Settings{"dataset-config": description + "x"})
	require.Equal(t, exit.Code("dataset_config"), exit.Classify(err).Code)
}

func TestTheNearestFolderThatExists(t *testing.T) {
	folder := t.TempDir()
	require.Equal(t, folder, existing(folder))
	require.Equal(t, folder, existing(filepath.Join(folder, "a", "b")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "file"), nil, 0o600))
	require.Equal(t, folder, existing(filepath.Join(folder, "file", "b")))
	require.Equal(t, ".", existing("results/none"))
}

func TestRowsThatDoNotFit(t *testing.T) {
	for want, c := range map[string]struct {
		rows     int
		settings []string
	}{
		"the data set has no rows":                                        {0, []string{"dataset", "f"}},
		"the data set has 13369 rows, more than the 13368 of llama3.1-8b": {13369, []string{"dataset", "f"}},
		"--samples 13369 is above the 13368 rows of llama3.1-8b":          {13369, []string{"samples", "13369"}},
	} {
		p := unbound(t, c.settings...)
		require.ErrorContains(t, p.checkRows(c.rows, true), want)
	}
	p := unbound(t, "dataset", "f", "samples", "9")
	require.ErrorContains(t, p.checkRows(8, false), "--samples 9 exceeds the 8 rows of the data set")
	require.NoError(t, p.checkRows(9, false))
	require.NoError(t, p.checkRows(8, true))
	require.Equal(t, 8, p.Config.Int("samples"))
	p = unbound(t, "dataset", "f")
	require.NoError(t, p.Suggest(rehearsalOrigin, "samples", "9"))
	require.NoError(t, p.checkRows(8, false), "a default follows the rows")
	require.Equal(t, 8, p.Config.Int("samples"))
	require.Empty(t, p.Adjusted)
	require.NoError(t, unbound(t, "dataset", "f").checkRows(13368, false))
	require.Equal(t, 512, unbound(t).Samples())
	require.Equal(t, 9, unbound(t, "samples", "9").Samples())
}
