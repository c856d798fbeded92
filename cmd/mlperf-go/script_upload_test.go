package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/objectstore/storetest"
)

// stores are those of cmdStore, by their URL.
var stores sync.Map

// cmdStore starts an object store, and stores its URL in a variable, and the file of its authority in NAME_CA: store
// NAME ID SECRET REGION
func cmdStore(ts *testscript.TestScript, _ bool, args []string) {
	s := storetest.Start(ts, ts.Getenv("WORK"), storetest.Keys{ID: args[1], Secret: args[2], Region: args[3]})
	stores.Store(s.URL, s)
	ts.Setenv(args[0], s.URL)
	ts.Setenv(args[0]+"_CA", s.CAFile)
}

// cmdStored requires a number of objects whose names match, and no object that contains one of the texts: stored URL
// PATTERN N [TEXT...]
func cmdStored(ts *testscript.TestScript, _ bool, args []string) {
	found, ok := stores.Load(args[0])
	if !ok {
		ts.Fatalf("there is no store %s", args[0])
	}
	s := found.(*storetest.Store)
	pattern := regexp.MustCompile(args[1])
	names := slices.DeleteFunc(s.Names(), func(name string) bool { return !pattern.MatchString(name) })
	if want, err := strconv.Atoi(args[2]); err != nil || len(names) != want {
		ts.Fatalf("%d objects match, not %s; the store has\n%s", len(names), args[2], strings.Join(s.Names(), "\n"))
	}
	for _, name := range names {
		for _, text := range args[3:] {
			if body, _ := s.Object(name); strings.Contains(string(body), text) {
				ts.Fatalf("%s contains %q", name, text)
			}
		}
	}
}

// TestWithUpload moves a destination from --output to --upload, in each spelling.
func TestWithUpload(t *testing.T) {
	for given, want := range map[string]string{
		"bench run -r s3://a":              "bench run --upload s3://a",
		"bench run --output=gs://a/b -w x": "bench run --upload=gs://a/b -w x",
		"bench run --output out -w x":      "bench run --output out -w x",
		"bench run -w x -r":                "bench run -w x -r",
	} {
		require.Equal(t, strings.Fields(want), withUpload(strings.Fields(given)))
	}
}
