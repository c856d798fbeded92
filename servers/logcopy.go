package servers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// CopiesFolder is the folder of the copied logs in a run's folder.
const CopiesFolder = "server-logs"

// maxCopy limits the copied part of a replica's log, in bytes. A longer part is copied without its beginning.
const maxCopy = 4 << 20

// LogCopier copies what the replicas of a plan write into their logs, each part once.
type LogCopier struct {
	plan *Plan
	from []int64 // by replica: where the next part begins
}

// NewLogCopier returns the copier of what is written from now on. Logs of earlier servers may exist already.
func NewLogCopier(p *Plan) *LogCopier {
	l := &LogCopier{plan: p}
	for _, r := range p.Replicas {
		var size int64
		if info, err := os.Stat(r.Log); err == nil { // else it begins with the server
			size = info.Size()
		}
		l.from = append(l.from, size)
	}
	return l
}

// Copy writes a file for each replica into CopiesFolder in the folder of a run. The files contain what was logged since
// the last call, without secrets and control characters.
func (l *LogCopier) Copy(folder string, access atomicfile.Access) error {
	folder = filepath.Join(folder, CopiesFolder)
	if err := os.MkdirAll(folder, access.Folder()); err != nil {
		return fmt.Errorf("no folder for the servers' logs: %w", err)
	}
	var all error
	for i, r := range l.plan.Replicas {
		err := access.Write(filepath.Join(folder, filepath.Base(r.Log)), func(to io.Writer) error {
			end, err := l.part(r.Log, l.from[i], to)
			l.from[i] = end
			return err
		})
		if err != nil {
			all = errors.Join(all, fmt.Errorf("the log of replica %d was not copied: %w", r.Index, err))
		}
	}
	return all
}

// part copies a log from a position on, and returns where it ended.
func (l *LogCopier) part(path string, from int64, to io.Writer) (end int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return from, err
	}
	defer f.Close()
	if end, err = f.Seek(0, io.SeekEnd); err != nil {
		return from, err
	}
	if left := end - from - maxCopy; left > 0 {
		if _, err := fmt.Fprintf(to, "(%d bytes of the log are left out here)\n", left); err != nil {
			return end, err
		}
		from += left
	}
	clean := foreign.Writer(to, func(line string) string {
		return l.plan.secrets.Text(colour.ReplaceAllString(line, ""))
	})
	_, err = io.Copy(clean, io.NewSectionReader(f, from, end-from))
	return end, errors.Join(err, clean.Flush())
}
