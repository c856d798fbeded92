package datasets

import (
	"archive/zip"
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// recorded returns a pickle written by pandas (see TestRecordPickles in internal/pickle).
func recorded(t testing.TB, version, name string) []byte {
	t.Helper()
	z, err := zip.OpenReader(filepath.Join("internal", "pickle", "testdata", version+".zip"))
	require.NoError(t, err)
	defer z.Close()
	f, err := z.Open(name)
	require.NoError(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	return b
}

func pickleOptions() Options {
	return Options{Schema: "test", Vocabulary: 128256, Columns: []models.Column{
		{Name: "id", Type: "text", Role: "id"}, {Name: "tok_input", Type: "ids", Required: true, Role: "input_ids"},
		{Name: "n", Type: "int"}}}
}

func TestOpenPickle(t *testing.T) {
	for _, version := range []string{"pandas1", "pandas2", "pandas3"} {
		for _, form := range []string{"frame", "records"} {
			content := recorded(t, version, form+"-p4")
			for packing, pack := range map[string]func(testing.TB, []byte) []byte{"": plain, ", gzip": gzipped,
				", zstd": zstded} {
				d, err := Open(writeFile(t, "set.pkl", pack(t, content)), pickleOptions())
				require.NoError(t, err, version)
				require.Equal(t, "Python pickle"+packing, d.Format)
				require.Len(t, d.Samples, 3)
				require.Equal(t, []int32{4, 70000, 128255, 2}, d.Samples[1].InputIDs)
				require.Equal(t, "bé\n", d.Samples[1].ID)
				require.Len(t, d.SHA256, 64)
			}
		}
	}
	o := pickleOptions()
	o.Format, o.Limit = "pkl", 2
	d, err := Open(writeFile(t, "set", recorded(t, "pandas2", "columns-p0")), o)
	require.NoError(t, err, "protocol 0 has no mark of its own and is named")
	require.Len(t, d.Samples, 2)
}

func plain(_ testing.TB, b []byte) []byte { return b }

func TestPickleRefused(t *testing.T) {
	content := recorded(t, "pandas3", "frame-p5")
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"a command": {[]byte("\x80\x02cposix\nsystem\nX\x02\x00\x00\x00id\x85R."),
			"found the name posix.system, which the pickle would call (at byte 16), expected only the names that tables need " +
				"(pandas, " +
				"numpy, plain Python); nothing was run;"},
		"cut":          {content[:len(content)/2], "the end of the file before the end of the pickle"},
		"another form": {[]byte("\x80\x04K\x01."), "found an int, expected a pickle of a plain table"},
		"a later one":  {[]byte("\x80\x06K\x01."), "found protocol 6"},
		"no prompt": {recorded(t, "pandas3", "series-p4"),
			`field "tok_input": found no such field (the record has n, id`},
		"another kind": {bytes.Replace(recorded(t, "pandas3", "records-p2"), []byte("tok_input"), []byte("tok_inpux"), -1),
			`field "tok_input": found no such field`},
		"dates":       {recorded(t, "pandas3", "dates-p4"), `"tok_input"`},
		"wrong ids":   {[]byte("\x80\x02](}X\x09\x00\x00\x00tok_input](K\x01Nese."), "an array that contains null"},
		"negative id": {[]byte("\x80\x02](}X\x09\x00\x00\x00tok_input](J\xff\xff\xff\xffese."), "the negative id -1"},
		"a record nest": {[]byte("\x80\x02](}X\x01\x00\x00\x00n" + strings.Repeat("]", 80) + strings.Repeat("a", 79) + "se."),
			"nested more than 64 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(writeFile(t, "set.pkl", c.content), pickleOptions())
			var e *Error
			require.ErrorAs(t, err, &e)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// Reading a decompression bomb in a pickle stops at the limit for compressed files or at the limit for a pickle's
// values.
func TestPickleBomb(t *testing.T) {
	bomb := append([]byte("\x80\x02]("), bytes.Repeat([]byte("(]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]l"), 8<<20)...)
	_, err := Open(writeFile(t, "set.pkl.gz", gzipped(t, bomb)), pickleOptions())
	require.Error(t, err)
	require.Regexp(t, "200 times|MiB of pickle|deeper than any table", err.Error())
}

func TestConvertPickle(t *testing.T) {
	path := writeFile(t, "set.pkl", recorded(t, "pandas3", "frame-p5"))
	var out bytes.Buffer
	done, err := Convert(&out, []string{path}, pickleOptions(), FormatJSONL)
	require.NoError(t, err)
	require.Equal(t, 3, done.Records)
	require.Equal(t, "Python pickle", done.From[0].Format)
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, `{"id":"bé\n","tok_input":[4,70000,128255,2],"n":2,"m":20,"f":null,"b":false,"array":[[3],[4]],"none":"x","nested":{},"bytes":"","big":-1180591620717411303424}`, lines[1])
	images := writeFile(t, "images.pkl", recorded(t, "pandas1", "images-p4"))
	o := Options{Columns: []models.Column{{Name: "id", Type: "text", Role: "input"}, {Name: "image", Type: "text"}}}
	d, err := Open(images, o)
	require.NoError(t, err)
	require.Len(t, d.Notes, 1)
	require.Contains(t, d.Notes[0], "7 images were pickled as pixels and encoded as PNG")
	done, err = Convert(io.Discard, []string{images}, o, FormatParquet)
	require.NoError(t, err)
	require.Equal(t, d.Notes, done.Notes)
}
