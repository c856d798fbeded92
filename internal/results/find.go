package results

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// The limits of FindRuns. A run of a campaign is four folders below Root: model, time, scenario and mode.
const (
	findDepth   = 5
	findEntries = 20_000
)

// runFiles lists the files that mark the folder of a finished run: of a test and of a workload.
var runFiles = []string{"run.json", "bench.json"}

func marksRun(e fs.DirEntry) bool { return e.Type().IsRegular() && slices.Contains(runFiles, e.Name()) }

// FindRuns returns at most most folders of finished runs in a folder and below it, the newest first. It follows no
// links and stops after a bounded number of entries, so runs may be missing in a large tree.
func FindRuns(folder string, most int) []string { return findRuns(folder, most, findEntries) }

func findRuns(folder string, most, left int) []string {
	type found struct {
		folder string
		ended  time.Time
	}
	var runs []found
	type place struct {
		folder string
		depth  int
	}
	for queue := []place{{filepath.Clean(folder), 0}}; len(queue) > 0 && left > 0; queue = queue[1:] {
		at := queue[0]
		entries, err := os.ReadDir(at.folder)
		left -= len(entries)
		if err != nil {
			continue // skip a folder that the user may not read
		}
		if i := slices.IndexFunc(entries, marksRun); i >= 0 {
			if info, err := entries[i].Info(); err == nil {
				runs = append(runs, found{at.folder, info.ModTime()})
			}
			continue
		}
		for _, e := range entries {
			if e.IsDir() && at.depth < findDepth {
				queue = append(queue, place{filepath.Join(at.folder, e.Name()), at.depth + 1})
			}
		}
	}
	ordering.Sort(runs, func(a, b found) int {
		return cmp.Or(b.ended.Compare(a.ended), cmp.Compare(a.folder, b.folder))
	})
	var folders []string
	for _, r := range runs[:min(len(runs), most)] {
		folders = append(folders, r.folder)
	}
	return folders
}
