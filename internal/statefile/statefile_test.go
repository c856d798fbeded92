package statefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/statefile"
)

type state struct {
	Schema string `json:"schema"`
	N      int    `json:"n"`
}

var file = statefile.File[state]{Name: "walk.json", Of: "walk", Schema: "walk/1",
	SchemaOf: func(s *state) string { return s.Schema },
	Check: func(s *state) error {
		if s.N < 0 {
			return errors.New("its n is negative")
		}
		return nil
	}}

func TestRead(t *testing.T) {
	folder := t.TempDir()
	_, err := file.Read(folder)
	require.ErrorIs(t, err, statefile.ErrNone)
	require.EqualError(t, err, folder+": there is no walk.json")

	path := filepath.Join(folder, "walk.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"schema":"walk/1","n":3}`), 0o600))
	s, err := file.Read(folder)
	require.NoError(t, err)
	require.Equal(t, &state{"walk/1", 3}, s)

	for text, want := range map[string]string{
		"{":                          "not the JSON of a walk: unexpected end of JSON input",
		`{"schema":"walk/2"}`:        `it has the schema "walk/2"; this program reads "walk/1"`,
		`{"schema":"walk/1","n":-1}`: "its n is negative",
		`{"schema":"walk/1","n":"one"}`: "not the JSON of a walk: json: cannot unmarshal string into Go struct field state.n " +
			"of type int",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := file.Read(folder)
		require.EqualError(t, err, path+": "+want)
		require.NotErrorIs(t, err, statefile.ErrNone)
	}
	// The error of another version has what could be decoded, unless Check rejects it.
	require.NoError(t, os.WriteFile(path, []byte(`{"schema":"walk/9","n":"one"}`), 0o600))
	s, err = file.Read(folder)
	require.Nil(t, s)
	var other *statefile.OtherVersion
	require.ErrorAs(t, err, &other)
	require.Equal(t, &state{Schema: "walk/9"}, other.Value)
	require.Equal(t, `the schema is "walk/9", this program reads "walk/1" and shows what it recognizes; "n" has another `+
		"form, and perhaps others", other.Note())
	for text, want := range map[string]string{
		`{"schema":"walk/2","n":-1}`:   `it has the schema "walk/2"; this program reads "walk/1"; its n is negative`,
		`{"schema":"run/1","n":1}`:     `it has the schema "run/1"; this program reads "walk/1"`,
		`{"schema":"walk/","n":1}`:     `it has the schema "walk/"; this program reads "walk/1"`,
		`{"schema":"run/1","n":"one"}`: `it has the schema "run/1"; this program reads "walk/1"`,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := file.Read(folder)
		require.EqualError(t, err, path+": "+want)
		require.False(t, errors.As(err, &other))
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("/etc/hostname", path))
	_, err = file.Read(folder)
	require.ErrorContains(t, err, "link")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"schema":"walk/1","n":1}`))
	f.Add([]byte(`{"schema":"walk/1","n":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := file.Parse(text); err == nil && (s.Schema != "walk/1" || s.N < 0) {
			t.Fatalf("accepted %q", text)
		}
	})
}
