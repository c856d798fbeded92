package datasets

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/models"
)

func TestTemplateMakesText(t *testing.T) {
	template, fault := parseTemplate("Q: {question}\nOf {n}: {list} {list!r} {flag!r} {{question}} {\"json\": {}}\n")
	require.Nil(t, fault)
	o := testOptions()
	o.Template = template
	d, err := Open(writeFile(t, "a.json", []byte(`{"tok_input":[1,2],"question":"what \"is\" it?\n","n":3,"list":["a\u00e9",{"k":null,"b":[true,1.50]}],"flag":true}`)), o)
	require.NoError(t, err)
	s := d.Samples[0]
	require.Equal(t, "Q: what \"is\" it?\n\nOf 3: [\"a\\u00e9\", {\"k\": null, \"b\": [true, 1.50]}] ['aé', {'k': None, "+
		"'b': [True, 1.50]}] True {question} {\"json\": {}}", s.Input)
	require.Empty(t, s.InputIDs, "the file's ids are of another prompt")
	_, err = Open(writeFile(t, "a.json", []byte(`{"tok_input":[1],"question":"x"}`)), o)
	require.ErrorContains(t, err, `field "n": found no such field, expected one, because the prompt template uses it; correct the template, or write {{n}}`)
}

func TestTemplateOfMessages(t *testing.T) {
	template, fault := parseTemplate("[system]\nBe brief.\n\n[user]\r\nSay {question}.\n[assistant]\nYes\n")
	require.Nil(t, fault)
	o := testOptions()
	o.Template = template
	d, err := Open(writeFile(t, "a.json", []byte(`{"tok_input":[1],"question":"x"}`)), o)
	require.NoError(t, err)
	require.Equal(t, `[{"role":"system","content":"Be brief.\n"},{"role":"user","content":"Say x."},{"role":"assistant","content":"Yes"}]`, string(d.Samples[0].Messages))
}

func TestTemplateOfTheDataset(t *testing.T) {
	columns := []models.Column{{Name: "instruction", Type: "text|object", Role: "template"},
		{Name: "input", Type: "text", Role: "input"}}
	for instruction, want := range map[string]string{
		`"Sum up:\n{input}\nIn brief:"`:             "Sum up:\nan article\nIn brief:",
		`{"llama":"A {input} B","other":"{input}"}`: "A an article B",
		`{"about":"nothing"}`:                       "an article",
		`"no place"`:                                "an article",
	} {
		d, err := Open(writeFile(t, "a.json", []byte(`{"instruction":`+instruction+`,"input":"an article"}`)),
			Options{Columns: columns})
		require.NoError(t, err)
		require.Equal(t, want, d.Samples[0].Input)
	}
}

func TestTemplateFiles(t *testing.T) {
	for content, says := range map[string]string{
		"no field":                         "found no field, expected at least one, such as {input}",
		"before\n[user]\n{input}":          "found text before the first message",
		strings.Repeat("x", maxTemplate+1): "not a regular file of at most 1024 KiB",
	} {
		_, err := ReadTemplate(writeFile(t, "t.txt", []byte(content)))
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "cannot read prompt template ")
	}
	_, err := ReadTemplate(t.TempDir() + "/none")
	require.ErrorContains(t, err, "no such file")
	_, err = ReadTemplate(t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
	template, err := ReadTemplate(writeFile(t, "t.txt", []byte("{input}")))
	require.NoError(t, err)
	require.Equal(t, []string{"input"}, template.fields)
}

// TestPythonForms compares the formatted values with those of Python, if it is installed.
func TestPythonForms(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	values := []string{`"it's"`, `"a \"b\" 'c'"`, `["\u00e9\n\t\\", "\u0001\u007f\u00a0", "\ud83d\ude00"]`,
		`{"k": [1, -2.5, null, true, {}], "\u4e2d": []}`, `[]`}
	text, err := json.Marshal(values)
	require.NoError(t, err)
	cmd := exec.Command("python3", "-c", "import json,sys\nfor v in json.load(sys.stdin):\n v=json.loads(v); "+
		"print(ascii([repr(v), v if isinstance(v,str) else json.dumps(v)]).replace(chr(39),chr(39)) and "+
		"json.dumps([repr(v), v if isinstance(v,str) else json.dumps(v)]))")
	cmd.Stdin = strings.NewReader(string(text))
	out, err := cmd.Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(values))
	for i, line := range lines {
		var want [2]string
		require.NoError(t, json.Unmarshal([]byte(line), &want))
		for k, repr := range []bool{true, false} {
			got, ok := appendPython(nil, []byte(values[i]), repr, 0)
			require.True(t, ok)
			require.Equal(t, want[k], string(got), values[i])
		}
	}
}

// JSON readers can parse the text that appendDumped writes.
func TestDumpedReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if !utf8.ValidString(text) {
			return
		}
		var back string
		require.NoError(t, json.Unmarshal(appendDumped(nil, []byte(text)), &back))
		require.Equal(t, text, back)
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add("[user]\n{a} {{b}} {c!r}\n", `{"a":"x","c":[1,{"k":null}]}`)
	f.Add("{a}", `{"a":"\ud800"}`)
	f.Fuzz(func(t *testing.T, text, record string) {
		template, fault := parseTemplate(text)
		if fault != nil || !validJSON([]byte(record)) || !strings.HasPrefix(record, "{") || !utf8.ValidString(record) {
			return
		}
		o := productOptions()
		o.Template = template
		p, err := newPlan(o)
		if err != nil {
			return
		}
		s, has, f2 := newDecoder(p, o).decode([]byte(record))
		if f2 == nil && has.messages && !json.Valid(s.Messages) {
			t.Fatalf("messages that are no JSON: %q", s.Messages)
		}
	})
}
