package spread

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/launch"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

// Options are a launch of shards.
type Options struct {
	launch.Options
	Stages   int // of the profile
	Limits   []measure.Limit
	Progress func(shard.Progress) // sum over all shards; nil: it is dropped
	Count    bool                 // whether the sums have the seconds that the shards counted
	Stop     <-chan struct{}      // closed to end the load early, as an interrupt ends a run; nil: never
}

// RunFolder is the folder of a shard's run in its results.
const RunFolder = "run"

// Args returns the arguments with which a pod runs its part of a profile.
func Args(bench []string, shards int) []string {
	return append(bench, "--part", fmt.Sprintf("$(JOB_COMPLETION_INDEX)/%d", shards), "--control", objects.ControlSocket)
}

// Run launches the shards, starts their stages together, collects their runs into Output, and merges them into the
// folder "merged" there. A load that was stopped has the verdict INTERRUPTED; before its start it is an error with
// live.Stopped.
func Run(ctx context.Context, c *cluster.Cluster, o Options) (*bench.Record, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &starter{Options: o, cluster: c}
	go func() {
		defer crash.Catch()
		select {
		case <-o.Stop:
			s.stop(cancel)
		case <-ctx.Done():
		}
	}()
	o.Options.Started = s.start
	result, err := launch.Run(ctx, c, o.Options)
	s.close()
	if err != nil {
		return nil, err
	}
	if len(result.Pods) != o.Pods {
		return nil, exit.Environment(cluster.Launcher, "", "%d of %d shards left results", len(result.Pods), o.Pods)
	}
	offsets := s.offsets()
	if len(offsets) != o.Pods {
		return nil, exit.Environment(cluster.Launcher, "Look at the pods' logs in "+filepath.Join(o.Output, "logs"),
			"the shards ended before they were started")
	}
	var shards []bench.Shard
	for i, p := range result.Pods {
		shards = append(shards, bench.Shard{Folder: filepath.Join(p.Folder, RunFolder), Offset: offsets[i]})
	}
	r, err := bench.Merge(shards, filepath.Join(o.Output, "merged"), o.Limits)
	if err != nil && s.stopped {
		err = fmt.Errorf("%w: %w", live.Stopped, err)
	}
	return r, err
}

// starter coordinates the shards of a launch once their pods run.
type starter struct {
	Options
	cluster *cluster.Cluster

	mu          sync.Mutex
	coordinator *shard.Coordinator
	started     bool // whether the last stage has started, or all that will start
	stopped     bool
	pipes       []io.Closer
}

// start connects to all pods and starts the stages. The connections stay for the progress, until close.
func (s *starter) start(ctx context.Context, pods []*corev1.Pod) error {
	var connections []shard.Connection
	for _, p := range pods {
		connections = append(connections, s.connect(ctx, p.Name))
	}
	c := shard.NewCoordinator(connections, shard.Options{Progress: s.Progress, Count: s.Count})
	s.mu.Lock()
	s.coordinator = c
	s.mu.Unlock()
	err := c.Run(ctx, s.Stages)
	s.mu.Lock()
	s.started = err == nil || s.stopped
	stopped := s.stopped
	s.mu.Unlock()
	switch {
	case stopped:
		return nil
	case err != nil:
		return exit.Environment(cluster.Launcher, "Look at the pods' logs", "starting the shards together: %w", err)
	}
	s.Notify(fmt.Sprintf("all %d shards have started; their starts differ by at most %v", len(pods),
		shard.Bound(c.Offsets()).Round(time.Microsecond)))
	return nil
}

// stop ends the load: that of the shards, or the launch if they have not started.
func (s *starter) stop(cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.coordinator == nil || !s.coordinator.Stop() {
		cancel(live.Stopped)
		return
	}
	s.stopped = true
	s.Notify("a viewer of the live page stopped the load")
}

// connect runs `worker connect` in a pod and returns its standard input and output.
func (s *starter) connect(ctx context.Context, pod string) shard.Connection {
	toPod, in := io.Pipe()
	out, fromPod := io.Pipe()
	s.mu.Lock()
	s.pipes = append(s.pipes, in, out)
	s.mu.Unlock()
	go func() {
		err := s.cluster.Exec(ctx, s.Namespace, pod, objects.Container,
			[]string{objects.Program, "worker", "connect", objects.ControlSocket}, toPod, fromPod)
		fromPod.CloseWithError(err)
		toPod.CloseWithError(io.ErrClosedPipe)
	}()
	return shard.Connection{In: out, Out: in}
}

func (s *starter) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pipes {
		_ = p.Close() // pipes of this process
	}
}

// offsets returns the clocks of the shards by index; nil: they were not started.
func (s *starter) offsets() []shard.Offset {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		return nil
	}
	return s.coordinator.Offsets()
}
