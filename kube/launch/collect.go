package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/parcel"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// attempts is how often a cut stream is continued.
const attempts = 5

// maxLog bounds the log of a pod that is saved.
const maxLog = 64 << 20

// collector fetches the results of pods.
type collector struct {
	cluster   *cluster.Cluster
	namespace string
	notify    func(string)
	exec      execute
}

// execute runs the program in a pod, as cluster.Exec does.
type execute func(ctx context.Context, pod string, args []string, in io.Reader, out io.Writer) error

func newCollector(c *cluster.Cluster, namespace string, notify func(string)) *collector {
	exec := func(ctx context.Context, pod string, args []string, in io.Reader, out io.Writer) error {
		return c.Exec(ctx, namespace, pod, objects.Container, append([]string{objects.Program}, args...), in, out)
	}
	return &collector{cluster: c, namespace: namespace, notify: notify, exec: exec}
}

// collect copies the folder of a pod into a local folder. It waits for the end of the pod's command. After a cut
// stream, another one continues with the missing files.
func (c *collector) collect(ctx context.Context, pod, from, to string) (*parcel.Manifest, error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var manifest *parcel.Manifest
	for attempt := 1; ; attempt++ {
		got, err := c.stream(ctx, pod, from, root, parcel.Have(root, manifest))
		if got != nil {
			manifest = got
		}
		if err == nil {
			return manifest, nil
		}
		if isLocal(err) {
			return manifest, exit.Environment(cluster.Collection, "Free some space, and collect again; --output names another "+
				"folder", "collecting the results of the pod %s into %s: %w", pod, to, err)
		}
		if ctx.Err() != nil || attempt == attempts {
			return manifest, exit.Environment(cluster.Collection, "", "collecting the results of the pod %s: %w", pod, err)
		}
		c.notify(fmt.Sprintf("%s: collecting again, attempt %d of %d: %v", pod, attempt+1, attempts, err))
		backoff(ctx, attempt)
	}
}

// isLocal reports whether the local disk caused an error, which further attempts cannot correct.
func isLocal(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

// lastLine returns the last line of a saved log that is not empty, if there is one.
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 4096
	if size, err := f.Seek(0, io.SeekEnd); err != nil {
		return ""
	} else if _, err := f.Seek(max(0, size-most), io.SeekStart); err != nil {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return foreign.Line(lines[len(lines)-1], 400)
}

// backoff waits as long as the shell launcher does: 5 s more after each attempt, at most 30 s.
func backoff(ctx context.Context, attempt int) {
	select {
	case <-ctx.Done():
	case <-time.After(min(time.Duration(attempt)*5*time.Second, 30*time.Second)):
	}
}

func (c *collector) stream(ctx context.Context, pod, from string, root *os.Root, have []parcel.File) (*parcel.Manifest,
	error) {
	request, err := json.Marshal(map[string]any{"have": have})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out, in := io.Pipe()
	go func() {
		err := c.exec(ctx, pod, []string{"worker", "send", "--results", from}, bytes.NewReader(request), in)
		in.CloseWithError(err)
	}()
	manifest, err := parcel.Receive(out, root, parcel.DefaultLimits)
	out.CloseWithError(io.ErrClosedPipe)
	return manifest, err
}

// release lets a pod end that stays for the collection of its results.
func (c *collector) release(ctx context.Context, pod, folder string) error {
	return c.exec(ctx, pod, []string{"worker", "release", "--results", folder}, nil, nil)
}

// saveLog writes the log of a pod and returns the path of the file. A missing log is reported, but does not fail the
// launch.
func (c *collector) saveLog(ctx context.Context, p *corev1.Pod, dir string) (path string) {
	path = filepath.Join(dir, filepath.Base(p.Name)+".log")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.notify(err.Error())
		return path
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		c.notify(err.Error())
		return path
	}
	err = c.cluster.Logs(ctx, c.namespace, p.Name, containerOf(p), maxLog, file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		c.notify(fmt.Sprintf("the log of the pod %s is missing: %v", p.Name, err))
	}
	return path
}
