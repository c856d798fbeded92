package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

func TestResume(t *testing.T) {
	p := workloadOf(1)
	folderOf := func(verdict record.Verdict) string {
		s := shardOf(t, p, verdict, 0, 0, 1)
		r, err := Read(s.Folder)
		require.NoError(t, err)
		r.Model = "small"
		folderRecord(t, s.Folder, r)
		return s.Folder
	}
	killed := folderOf(record.Valid)
	require.NoError(t, os.Remove(filepath.Join(killed, RecordName)))
	for name, c := range map[string]struct {
		options    Options
		finished   bool
		startsOver bool
		code       exit.Code
		text       string // of the note or the error
	}{
		"empty folder": {options: Options{Folder: t.TempDir(), Profile: p}},
		"valid": {options: Options{Folder: folderOf(record.Valid), Profile: p}, finished: true,
			text: " is finished and kept (--resume)"},
		"invalid, of the same model": {options: Options{Folder: folderOf(record.Invalid), Profile: p, Model: "small"},
			finished: true, text: " is finished and kept (--resume)"},
		"interrupted": {options: Options{Folder: folderOf(record.Interrupted), Profile: p}, startsOver: true,
			text: " was interrupted and starts over (--resume)"},
		"killed": {options: Options{Folder: killed, Profile: p}, startsOver: true,
			text: " was interrupted and starts over (--resume)"},
		"another profile": {options: Options{Folder: folderOf(record.Valid), Profile: workloadOf(2)},
			code: exit.CodeOutputUsed, text: "has another profile (its values first): seed 1 and 2"},
		"another profile of an interrupted run": {options: Options{Folder: folderOf(record.Interrupted),
			Profile: workloadOf(2)}, code: exit.CodeOutputUsed, text: "has another profile"},
		"another model": {options: Options{Folder: folderOf(record.Valid), Profile: p, Model: "huge"},
			code: exit.CodeOutputUsed, text: `is of the model "small", not "huge"`},
	} {
		r, note, err := Resume(&c.options)
		require.Equal(t, c.finished, r != nil, name)
		require.Equal(t, c.startsOver, c.options.Force, name)
		if c.code == "" {
			require.NoError(t, err, name)
			require.Contains(t, note, c.text, name)
			continue
		}
		require.Equal(t, c.code, exit.Classify(err).Code, name)
		require.ErrorContains(t, err, c.text, name)
	}
	noProfile := folderOf(record.Valid)
	require.NoError(t, os.Remove(filepath.Join(noProfile, ProfileName)))
	_, _, err := Resume(&Options{Folder: noProfile, Profile: p})
	require.Equal(t, exit.CodeRunFolder, exit.Classify(err).Code)
}
