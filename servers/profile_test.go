package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestInvalidProfileBlocks(t *testing.T) {
	for block, want := range map[string]string{
		"3":                       "is not a map of enabled",
		"{enabled: true}":         "is enabled without a tool: set tool to one of nsys, pytorch, amd",
		"{tool: perf}":            `one of nsys, pytorch, amd`,
		"{tol: nsys}":             `has the key "tol" in line 2`,
		"{tool: nsys, tool: amd}": "unknown or repeated",
		"{enabled: maybe}":        "write true or false",
	} {
		_, err := Parse("s.yaml", strings.NewReader("model: m\nprofile: "+block))
		require.ErrorContains(t, err, want, block)
	}
	p := plan(t, "model: m\nprofile: {enabled: false, tool: nsys}", Options{GPUsPerReplica: unset})
	require.Equal(t, "python3", p.Replicas[0].Command[0])
}

// A fake nsys or rocprof records its arguments and executes the command after --.
func TestProfilerWrapsEachServer(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "profiler")
	require.NoError(t, os.WriteFile(tool, []byte("#!/bin/sh\necho profiler \"$@\"\nwhile [ \"$1\" != -- ]; do shift; "+
		"done\nshift\nexec \"$@\"\n"), 0o755))
	for name, want := range map[string]string{"nsys": "profiler profile -t cuda --output " +
		"%s/profile/replica-1.nsys-rep -- ", "amd": "profiler -t cuda --output %s/profile/replica-1.csv -- "} {
		p := childPlan(t, "serve", 2, "profile: {enabled: true, tool: "+name+", args: [-t, cuda], binary_path: '"+tool+"'}")
		require.Equal(t, profileStop, p.StopTimeout)
		require.Contains(t, strings.Join(p.Notes, "\n"), "the servers are profiled (the profile block: "+name)
		f, err := Start(t.Context(), p, nil)
		require.NoError(t, err)
		state := f.State()
		require.Equal(t, name, state.Facts(time.Time{}, time.Now()).Profiler)
		require.NoError(t, f.Stop())
		requireNothingLeft(t, p)
		log, err := os.ReadFile(p.Replicas[1].Log)
		require.NoError(t, err)
		require.Contains(t, string(log), fmt.Sprintf(want, p.Dir))
		require.DirExists(t, filepath.Join(p.Dir, "profile"))
	}

	amd := plan(t, "model: m\nprofile: {enabled: true, tool: amd, args: [--output, mine.csv]}",
		Options{GPUsPerReplica: unset})
	require.Equal(t, []string{"rocprof", "--output", "mine.csv", "--", "python3"}, amd.Replicas[0].Command[:5])
}

func TestTheTorchProfilerIsStartedAndStopped(t *testing.T) {
	p := childPlan(t, "serve", 1, "profile: {enabled: true, tool: pytorch}")
	f, err := Start(t.Context(), p, nil)
	require.NoError(t, err)
	require.NoError(t, f.Stop())
	log, err := os.ReadFile(p.Replicas[0].Log)
	require.NoError(t, err)
	dir := p.Dir + "/profile/replica-0\n"
	require.Equal(t, "start in "+dir+"stop in "+dir, string(log))

	p = childPlan(t, "serve=unprofiled", 1, "profile: {enabled: true, tool: pytorch}")
	p.StopTimeout = time.Second
	_, err = Start(t.Context(), p, nil)
	require.ErrorContains(t, err, "the torch profiler did not start: POST "+p.URLs()[0]+
		"/start_profile answered status 404; vLLM since 0.13")
	requireNothingLeft(t, p)
}
