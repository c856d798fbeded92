package datasets

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A cell of CSV becomes the JSON value that its column may have. Python's True and False are values of a column of
// truth values alone.
func TestCellsOfCSV(t *testing.T) {
	for _, c := range []struct {
		cell  string
		kinds kind
		want  string
	}{
		{"", kindText, "null"}, {"", kindBool, "null"}, {"", kindIDs, "null"}, {"True", kindText, `"True"`},
		{"True", kindBool, "true"}, {"False", kindBool, "false"}, {"true", kindBool, "true"}, {"TRUE", kindBool, `"TRUE"`},
		{"Truth", kindBool, `"Truth"`}, {"True", kindInt, `"True"`}, {"False", kindNumber, `"False"`}, {"7", kindInt, "7"},
		{"7", kindBool, "7"}, {"1.5", kindNumber, "1.5"}, {"7", kindText, `"7"`}, {"a\"b", kindInt, `"a\"b"`},
		{`{"a": 1}`, kindObject, `{"a": 1}`}, {`{"a": 1`, kindObject, `"{\"a\": 1"`},
		{"True", kindText | kindBool, `"True"`}, {"[1, 2]", kindIDs, "[1, 2]"},
	} {
		got, f := appendCell(nil, []byte(c.cell), c.kinds)
		require.Nil(t, f, "%+v", c)
		require.JSONEq(t, c.want, string(got), "%+v", c)
	}
}

// A packed file of a format that needs random access is unpacked into a temporary file. Without room for it, the error
// names that.
func TestNoFolderForTemporaryFiles(t *testing.T) {
	path := writeFile(t, "a.parquet.gz", gzipped(t, []byte("PAR1"+strings.Repeat("x", 100)+"PAR1")))
	_, err := Open(path, testOptions())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "temporary copy", "it is not a Parquet file, but there is room")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "absent"))
	_, err = Open(path, testOptions())
	require.ErrorContains(t, err, "no folder for its temporary copy")
}

// Every other answer of a synthetic set of expressions is a fraction.
func TestSyntheticExpressions(t *testing.T) {
	for i := range 10 {
		answer := expression(&generator{state: uint64(i)}, i)
		require.Equal(t, i%2 == 0, strings.HasPrefix(answer.truth, `\frac{`), "%d: %s", i, answer.truth)
		require.Equal(t, `\boxed{`+answer.truth+`}`, answer.text)
	}
}
