package truncate

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A log has no other signs than those from a tab to a tilde at its beginning, as long as the end that is kept.
func TestSignsOfALog(t *testing.T) {
	for _, c := range []struct {
		sign string
		at   int
		ok   bool
	}{
		{"~", 0, true}, {"\x7f", 0, false}, {"\r", 4095, false}, {"\r", 4096, true}, {"\n", 1, true}, {"\t", 1, true},
		{"é", 7, false}, {"\x80", 4095, false}, {"\x80", 4096, true},
	} {
		at := newTree(t, "")
		at.write(t, txtName, "x\n")
		text := pattern(20000)
		at.write(t, logName, text[:c.at]+c.sign+text[c.at+len(c.sign):])
		got, err := at.run(t)
		require.Equal(t, c.ok, err == nil, "%q at %d: %v", c.sign, c.at, err)
		if !c.ok {
			require.ErrorContains(t, err, "not a LoadGen accuracy log")
			require.Equal(t, got.Before, got.After)
		}
	}
}

// A folder without a log is a fault, unless its result is another client's, or an audit has no accuracy folder.
func TestFoldersWithoutALog(t *testing.T) {
	for name, c := range map[string]struct {
		folders []string // below the scenario
		files   []string
		refused []string
	}{
		"no accuracy folder":      {[]string{"performance"}, nil, []string{"accuracy"}},
		"an empty one":            {[]string{"accuracy"}, nil, []string{"accuracy"}},
		"another client":          {[]string{"accuracy"}, []string{"config.yaml"}, nil},
		"another client, older":   {[]string{"accuracy"}, []string{"config.yml"}, nil},
		"audits without logs":     {[]string{"TEST06", "TEST07", "TEST09"}, []string{"config.yml"}, nil},
		"an audit's empty folder": {[]string{"TEST07/accuracy"}, []string{"config.yml"}, []string{"TEST07/accuracy"}},
		"TEST01 without a folder": {[]string{"TEST01"}, []string{"config.yaml"}, []string{"TEST01/accuracy"}},
		"an unknown audit":        {[]string{"TEST99/accuracy"}, []string{"config.yaml"}, nil},
		"another client's audit":  {[]string{"TEST07/accuracy"}, []string{"config.yml", "TEST07/config.yaml"}, nil},
	} {
		at := newTree(t, "TEST09") // a good log of another scenario
		at.write(t, logName, "[]")
		scenario := filepath.Join("closed", submitter, "results", "sys", "bench", "Server")
		for _, folder := range c.folders {
			require.NoError(t, os.MkdirAll(filepath.Join(at.root, scenario, folder), 0o755))
		}
		for _, file := range c.files {
			require.NoError(t, os.WriteFile(filepath.Join(at.root, scenario, file), nil, 0o644))
		}
		offline := filepath.Join(at.root, "closed", submitter, "results", "sys", "bench", "Offline")
		require.NoError(t, os.WriteFile(filepath.Join(offline, "config.yaml"), nil, 0o644))
		targets, err := Tree(context.Background(), at.root, Options{Submitter: submitter, Backup: at.backup})
		var refused []string
		for _, target := range targets {
			if target.State == Refused {
				below, _ := filepath.Rel(scenario, filepath.Dir(target.Path))
				refused = append(refused, below)
				require.NotEmpty(t, target.Reason)
			}
		}
		require.Equal(t, c.refused, refused, name)
		require.Equal(t, c.refused != nil, err != nil, name)
		require.Len(t, targets, 1+len(c.refused), name)
	}
}

func TestScoresAreBounded(t *testing.T) {
	for _, more := range []int64{0, 1} {
		at := newTree(t, "")
		at.write(t, logName, "[]")
		at.write(t, txtName, "")
		require.NoError(t, os.Truncate(filepath.Join(at.root, at.dir, txtName), maxText+more))
		_, err := at.run(t)
		if more == 0 {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "has more than 64 MiB")
	}
}

func TestSubmitterIsAFolderName(t *testing.T) {
	at := newTree(t, "")
	for name, ok := range map[string]bool{"": false, "..": false, "a/b": false, "a": true, "a b": true} {
		err := Options{Submitter: name, Backup: at.backup}.check(at.root)
		require.Equal(t, ok, err == nil, "%q: %v", name, err)
	}
	o := Options{Submitter: submitter, Backup: at.backup}
	_, err := Tree(context.Background(), filepath.Join(at.root, "absent"), o)
	require.ErrorContains(t, err, "truncate the accuracy logs of a tree")
}

// Every failed log is named in the error, and the others are done.
func TestOneRefusedLogDoesNotStopTheOthers(t *testing.T) {
	at := newTree(t, "")
	var bad []string
	for i, scenario := range []string{"Interactive", "Offline", "Server", "SingleStream"} {
		dir := filepath.Join("closed", submitter, "results", "sys", "bench", scenario, "accuracy")
		require.NoError(t, os.MkdirAll(filepath.Join(at.root, dir), 0o755))
		text := strings.Repeat("x", 5000)
		if i%2 == 0 {
			text, bad = "\x80"+text, append(bad, scenario)
		}
		require.NoError(t, os.WriteFile(filepath.Join(at.root, dir, logName), []byte(text), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(at.root, dir, txtName), []byte("x\n"), 0o644))
	}
	targets, err := Tree(context.Background(), at.root, Options{Submitter: submitter, Backup: at.backup})
	require.Len(t, targets, 4)
	for i, target := range targets {
		require.Equal(t, []State{Refused, Truncated}[i%2], target.State)
		require.EqualValues(t, 5000+1-i%2, target.Before)
		require.EqualValues(t, []int{5001, 2*endSize + len(gap)}[i%2], target.After)
	}
	for _, scenario := range bad {
		require.ErrorContains(t, err, filepath.Join(at.root, "closed", submitter, "results", "sys", "bench", scenario))
	}
}
