package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mlperf-go/mlperf-go/run/record"
)

const precious = "precious"

// plantedNames are the names of the files that a run writes, in its folder and in that of LoadGen's logs, and of the
// file with which it reserves space.
var plantedNames = []string{
	record.FileName, record.ConfigName, record.UserConfName, record.PreflightName, record.RequestsName,
	record.FailuresName,
	record.DatasetName, record.AuditName, record.EnvironmentFolder,
	record.AccuracyTextName, record.AccuracyName, ".reserve", record.FileName + ".tmp", record.RequestsName + ".tmp",
	record.LogFolder + "/mlperf_log_detail.txt", record.LogFolder + "/mlperf_log_summary.txt",
	record.LogFolder + "/mlperf_log_accuracy.json",
}

// cmdPlant creates links in a folder, under every name that a run writes, to files of another folder: plant FOLDER
// HOME.
func cmdPlant(ts *testscript.TestScript, _ bool, args []string) {
	folder, home := ts.MkAbs(args[0]), ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Join(home, record.LogFolder), 0o755))
	ts.Check(os.Symlink(filepath.Join(home, record.LogFolder), filepath.Join(folder, record.LogFolder)))
	for _, name := range plantedNames {
		if strings.HasPrefix(name, record.LogFolder) { // the folder is the link
			ts.Check(os.WriteFile(filepath.Join(home, filepath.FromSlash(name)), []byte(precious), 0o644))
			continue
		}
		to := filepath.Join(home, "victim-"+name) // not the name of a record
		ts.Check(os.WriteFile(to, []byte(precious), 0o644))
		ts.Check(os.Symlink(to, filepath.Join(folder, name)))
	}
}

// cmdUntouched requires that the files in plant's home are unchanged, and that there are no others: untouched HOME.
func cmdUntouched(ts *testscript.TestScript, _ bool, args []string) {
	found := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found++
		if text, err := os.ReadFile(path); err != nil || string(text) != precious {
			ts.Fatalf("%s was written to: %v", path, err)
		}
		return nil
	}))
	if found != len(plantedNames) {
		ts.Fatalf("%d files instead of %d", found, len(plantedNames))
	}
}
