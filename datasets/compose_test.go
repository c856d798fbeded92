package datasets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
	"github.com/mlperf-go/mlperf-go/internal/spill"
	"github.com/mlperf-go/mlperf-go/models"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// productColumns are the columns of a data set of products with images.
var productColumns = []models.Column{
	{Name: "messages", Type: "messages", Role: "messages"}, {Name: "system_message", Type: "text", Role: "system"},
	{Name: "product_title", Type: "text", Role: "part"}, {Name: "product_description", Type: "text", Role: "part"},
	{Name: "product_image", Aliases: []string{"product_image_base64"}, Type: "text|object", Role: "image"},
	{Name: "potential_product_categories", Type: "text|array"},
}

const tinyJPEG = "\xff\xd8\xff\xe0 not a whole image\xff\xd9"

func base64Of(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func productOptions() Options { return Options{Schema: "products", Columns: productColumns} }

func TestRawFieldsBecomeMessages(t *testing.T) {
	image := base64Of(tinyJPEG)
	for name, record := range map[string]string{
		"base64":          `{"product_title":"Mug \u00e9","product_description":"A \"mug\".","system_message":"Be brief.","product_image":"` + image + `"}`,
		"converted":       `{"product_title":"Mug é","product_description":"A \"mug\".","system_message":"Be brief.","product_image_base64":"` + image + `"}`,
		"struct of bytes": `{"product_title":"Mug é","product_description":"A \"mug\".","system_message":"Be brief.","product_image":{"bytes":"` + image + `","path":null}}`,
	} {
		d, err := Open(writeFile(t, "a.json", []byte(record)), productOptions())
		require.NoError(t, err, name)
		s := d.Samples[0]
		require.Equal(t, `[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Mug é\n\nA \"mug\"."},`+
			`{"type":"image_url","image_url":{"url":"data:image/JPEG;base64,`+image+`"}}]}]`, string(s.Messages), name)
		require.Equal(t, len(tinyJPEG), s.ImageBytes)
		require.Equal(t, len(s.Messages), s.MessageBytes)
		require.Len(t, d.Notes, 1)
		require.Contains(t, d.Notes[0], "without a prompt template")
	}
}

func TestImageFormatsAreDetected(t *testing.T) {
	for head, format := range map[string]string{
		tinyJPEG: "JPEG", "\x89PNG\r\n\x1a\nxxxxx": "PNG", "GIF89axxxxxxx": "GIF", "RIFF1234WEBPVP8 ": "WEBP",
		"BMxxxxxxxxxxx": "BMP", "II*\x00xxxxxxxxx": "TIFF",
	} {
		d, err := Open(writeFile(t, "a.json", []byte(`{"product_title":"x","product_image":"`+base64Of(head)+`"}`)),
			productOptions())
		require.NoError(t, err)
		require.Contains(t, string(d.Samples[0].Messages), `"data:image/`+format+`;base64,`+base64Of(head)+`"`)
	}
	d, err := Open(writeFile(t, "a.json", []byte(`{"product_title":"x","product_image":"https://host/a.jpg"}`)),
		productOptions())
	require.NoError(t, err)
	require.Contains(t, string(d.Samples[0].Messages), `{"url":"https://host/a.jpg"}`)
}

func TestImagesAreRefused(t *testing.T) {
	for value, says := range map[string]string{
		`"` + base64Of("no image at all") + `"`: "bytes of an unknown image format",
		`"/9j/4A"`:                              "an image that is not base64",
		`"/9j/4A=*"`:                            "an image that is not base64",
		`""`:                                    "an image that is not base64",
		`{"path":"a.jpg"}`:                      "an image object without bytes",
		`{"bytes":null,"path":""}`:              "an image object without bytes",
		`7`:                                     "found a number",
	} {
		_, err := Open(writeFile(t, "a.json", []byte(`{"product_title":"x","product_image":`+value+`}`)), productOptions())
		require.ErrorContains(t, err, says, value)
		require.ErrorContains(t, err, `record 1 (line 1), field "product_image"`)
	}
	_, err := Open(writeFile(t, "a.json", []byte(`{"product_title":"x"}`)), productOptions())
	require.ErrorContains(t, err, "found no prompt, expected one of the fields messages, product_image")
}

// Messages in the file take precedence over raw fields and are sent unchanged except for white space between their
// parts.
func TestMessagesAreKept(t *testing.T) {
	d, err := Open(writeFile(t, "a.json", []byte(`{"messages":[ {"role" : "user", "content":"a  b"} ],"product_image":"/9j/4AAA"}`)), productOptions())
	require.NoError(t, err)
	require.Equal(t, `[{"role":"user","content":"a  b"}]`, string(d.Samples[0].Messages))
}

// TestMessagesInAStore reads more messages than the store keeps in memory.
func TestMessagesInAStore(t *testing.T) {
	const rows, size = 400, 50_000
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, `{"product_title":"t%d","product_image":"%s"}`+"\n", i,
			base64Of(fmt.Sprintf("\xff\xd8\xff%06d", i)+strings.Repeat("x", size)))
	}
	path := writeFile(t, "a.jsonl", []byte(b.String()))
	o := productOptions()
	o.Store = spill.New(1<<20, t.TempDir())
	defer func() { require.NoError(t, o.Store.Close()) }()
	d, err := Open(path, o)
	require.NoError(t, err)
	require.True(t, o.Store.(*spill.Store).Spilled())
	for i, s := range d.Samples {
		require.Contains(t, string(s.Messages), base64Of(fmt.Sprintf("\xff\xd8\xff%06d", i)+"xxx"))
		require.Equal(t, size+9, s.ImageBytes)
	}
	o.Store, o.SizesOnly = nil, true
	sizes, err := Open(path, o)
	require.NoError(t, err)
	require.Equal(t, "[]", string(sizes.Samples[7].Messages))
	require.Equal(t, d.Samples[7].MessageBytes, sizes.Samples[7].MessageBytes)
	o = productOptions()
	o.Store = spill.New(1<<10, "")
	_, err = Open(path, o)
	require.ErrorContains(t, err, "cannot keep the messages of record 1")
}

// TestGoldenPrompts composes the vision benchmark's prompts from templates, which are the recorded texts with fields
// instead of values.
func TestGoldenPrompts(t *testing.T) {
	var file struct{ Cases []json.RawMessage }
	content, err := os.ReadFile(filepath.Join(golden.Dir(t, "accuracy"), "prompts.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &file))
	seen := 0
	for _, raw := range file.Cases {
		var c struct {
			Kind, System string
			Sample       struct {
				Title       string   `json:"product_title"`
				Description string   `json:"product_description"`
				Categories  []string `json:"potential_product_categories"`
				Image       string   `json:"image_bytes_hex"`
			}
			Messages, Prompt []json.RawMessage
		}
		require.NoError(t, json.Unmarshal(raw, &c))
		seen++
		if !strings.HasPrefix(c.Kind, "qwen3_vl") {
			goldenText(t, c.Kind, raw)
			continue
		}
		want := fmt.Sprintf(`[{"role":"system","content":%s},{"role":"user","content":[%s,%s]}]`,
			jsontext.AppendQuoted(nil, c.System),
			last(c.Prompt, 2), last(c.Prompt, 1))
		if c.Messages != nil {
			want = fmt.Sprintf(`[%s,%s]`, c.Messages[0], c.Messages[1])
		}
		var messages []struct{ Content json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(want), &messages))
		var system string
		var parts []struct{ Text string }
		require.NoError(t, json.Unmarshal(messages[0].Content, &system))
		require.NoError(t, json.Unmarshal(messages[1].Content, &parts))
		user := strings.NewReplacer(c.Sample.Title, "{product_title}", c.Sample.Description, "{product_description}",
			`['Home > Kitchen > Mugs', 'Home > Decor']`, "{potential_product_categories!r}",
			`["Home > Kitchen > Mugs", "Home > Decor"]`, "{potential_product_categories}").Replace(parts[0].Text)
		require.Equal(t, 3, strings.Count(user, "{"))
		o := productOptions()
		o.Template, _ = parseTemplate("[system]\n" + system + "\n[user]\n" + user + "\n")
		require.NotNil(t, o.Template)
		image, err := hex.DecodeString(c.Sample.Image)
		require.NoError(t, err)
		record := map[string]any{"product_title": c.Sample.Title, "product_description": c.Sample.Description,
			"potential_product_categories": c.Sample.Categories, "product_image": base64.StdEncoding.EncodeToString(image)}
		line, err := json.Marshal(record)
		require.NoError(t, err)
		d, err := Open(writeFile(t, "a.json", line), o)
		require.NoError(t, err, c.Kind)
		require.JSONEq(t, want, string(d.Samples[0].Messages), c.Kind)
	}
	require.Equal(t, len(file.Cases), seen)
}

// goldenText composes a prompt of one text from a template, which is the recorded text with fields instead of values.
func goldenText(t *testing.T, kind string, raw []byte) {
	t.Helper()
	fields := map[string][]string{"llama3.1-8b_cnn": {"article"}, "llama2-70b_openorca": {"system_prompt", "question"},
		"gpt_oss_endpoints_aime25": {"question"}}
	require.Contains(t, fields, kind)
	var record map[string]string
	require.NoError(t, json.Unmarshal(raw, &record))
	text := record["prompt_text"]
	for _, name := range fields[kind] {
		require.Equal(t, 1, strings.Count(text, record[name]), "%s: %s", kind, name)
		text = strings.Replace(text, record[name], "{"+name+"}", 1)
	}
	o := testOptions()
	var refused *Error
	o.Template, refused = parseTemplate(text)
	require.Nil(t, refused)
	row := map[string]any{"tok_input": []int{1}}
	for name, value := range record {
		row[name] = value
	}
	line, err := json.Marshal(row)
	require.NoError(t, err)
	d, err := Open(writeFile(t, "a.json", line), o)
	require.NoError(t, err, kind)
	require.Equal(t, record["prompt_text"], d.Samples[0].Input, kind)
}

func last(list []json.RawMessage, n int) string {
	if len(list) < n {
		return "null"
	}
	return string(list[len(list)-n])
}
