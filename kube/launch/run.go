package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Options are how a launch is run and collected.
type Options struct {
	objects.Launch
	Output string        // local folder; each pod's results go into a folder of it
	Start  time.Duration // within which all pods must run; 0: no limit
	Wait   time.Duration // within which all pods must end, counted from their creation; 0: return as soon as they run
	Keep   bool          // leave the objects in the cluster
	Notify func(string)  // receives a sentence for each change; nil: it is dropped
	// Started is called once all pods run, with the pods by index, beside the wait; nil: nothing.
	Started func(ctx context.Context, pods []*corev1.Pod) error
}

// Result is what came of a launch.
type Result struct {
	Pods []Pod `json:"pods"` // by index
}

// Pod is the end of one pod.
type Pod struct {
	Name   string `json:"name"`
	Index  int    `json:"index"`
	Exit   int    `json:"exit"`
	Folder string `json:"folder"` // local
	Bytes  int64  `json:"bytes"`
}

// Exit returns the highest exit code of the pods: 0 only if all ended with it.
func (r *Result) Exit() int {
	highest := 0
	for _, p := range r.Pods {
		highest = max(highest, p.Exit)
	}
	return highest
}

// Run runs a launch. The objects are deleted at the end, except where results could not be collected, or Keep.
func Run(ctx context.Context, c *cluster.Cluster, o Options) (*Result, error) {
	r := newRunner(c, o)
	if err := r.apply(ctx); err != nil {
		return nil, err
	}
	result, err := r.follow(ctx)
	return result, r.finish(ctx, err)
}

func newRunner(c *cluster.Cluster, o Options) *runner {
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	return &runner{Options: o, cluster: c, collector: newCollector(c, o.Namespace, o.Notify)}
}

type runner struct {
	Options
	cluster   *cluster.Cluster
	collector *collector
	job       types.UID // of the launch; empty before it is created
}

// apply creates the objects. Existing objects that the user may not change stay unchanged.
func (r *runner) apply(ctx context.Context) error {
	if err := r.cluster.ApplyShared(ctx, r.Shared()); err != nil {
		return err
	}
	if err := r.awaitEarlier(ctx); err != nil {
		return err
	}
	var owner *metav1.OwnerReference
	if len(r.Profiles) > 0 {
		var err error
		if owner, err = r.cluster.Apply(ctx, r.Owner()); err != nil {
			return err
		}
	}
	job, err := r.cluster.Apply(ctx, r.Job(owner))
	if err != nil {
		return errors.Join(err, r.remove(ctx))
	}
	r.job = job.UID
	r.Notify(fmt.Sprintf("created the job %s with %d pods in the namespace %s", r.JobName(), r.Pods, r.Namespace))
	return nil
}

// follow waits for the pods, collects each one's results, and returns an error for the first lost pod.
func (r *runner) follow(ctx context.Context) (*Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if r.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.Wait, r.late("the pods did not end within %s", r.Wait))
		defer cancel()
	}
	f := &follower{runner: r, ctx: ctx, stop: stop, done: map[string]Pod{},
		collecting: map[string]context.CancelFunc{}, lost: map[string]bool{}, told: map[string]string{}}
	starting := r.startTimer(stop)
	defer starting.Stop()
	err := watch(ctx, r.cluster.Client, r.Namespace, r.Selector(), func(pods []*corev1.Pod) bool {
		return f.see(newest(r.own(pods)), starting)
	})
	if err == nil && f.err != nil {
		stop(f.err) // ends the collection from other pods
	}
	f.wait.Wait()
	switch cause := context.Cause(ctx); {
	case f.err != nil:
		err = f.err
	case errors.Is(cause, errAll):
		err = nil
	case cause != nil:
		err = cause
	}
	return f.result(), err
}

// errAll is the cause of the context's end when all pods were collected.
var errAll = errors.New("all pods were collected")

func (r *runner) startTimer(stop context.CancelCauseFunc) *time.Timer {
	if r.Start <= 0 {
		return time.NewTimer(1 << 62)
	}
	return time.AfterFunc(r.Start, func() { stop(r.late("the pods did not start within %s", r.Start)) })
}

func (r *runner) late(format string, args ...any) error {
	return exit.Environment(cluster.Timeout,
		fmt.Sprintf("Look at the pods (kubectl -n %s describe pods -l %s), and wait longer "+
			"with --start-timeout or --wait-timeout; then collect with `mlperf-go kube collect -p %s %s`",
			r.Namespace, r.Selector(), r.Namespace, r.ID), format, args...)
}

// finish deletes the objects. After a failure whose results are still in the cluster it keeps them, and reports how to
// collect the results.
func (r *runner) finish(ctx context.Context, err error) error {
	var known *exit.Error
	if err == nil && r.Wait == 0 { // the results are still to be collected
		r.Keep = true
	}
	if r.Keep || errors.As(err, &known) && (known.Code == cluster.Collection || known.Code == cluster.Timeout) {
		r.Notify(fmt.Sprintf("the pods are left: collect their results with `mlperf-go kube collect -p %s %s`, "+
			"or remove them with `%s`", r.Namespace, r.ID, r.removal()))
		return err
	}
	return errors.Join(err, r.remove(ctx))
}

// remove deletes the objects that belong only to the launch, even after a signal has ended the context. An error
// contains the command that deletes them later.
func (r *runner) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	err := errors.Join(r.cluster.Delete(ctx, "Job", r.Namespace, r.JobName()),
		r.cluster.Delete(ctx, "ConfigMap", r.Namespace, r.ProfilesName()))
	if err != nil {
		err = fmt.Errorf("%w; remove what the launch left with `%s`", err, r.removal())
	}
	return err
}

// removal returns the command that removes the objects that belong only to the launch.
func (r *runner) removal() string {
	return fmt.Sprintf("kubectl -n %s delete job,configmap -l %s", r.Namespace, r.Selector())
}

// follower sees the changes of the pods of one launch.
type follower struct {
	*runner
	ctx  context.Context
	stop context.CancelCauseFunc
	wait sync.WaitGroup

	mu   sync.Mutex
	err  error
	done map[string]Pod    // ended and collected, by name
	told map[string]string // last sentence about each pod
	all  bool              // Started was called

	collecting map[string]context.CancelFunc // by name; it ends the collection
	lost       map[string]bool               // by name; a successor continues the lost pod's work
}

// see judges the pods. It returns true when all were collected or one was lost for good.
func (f *follower) see(pods []*corev1.Pod, starting *time.Timer) bool {
	running := 0
	if err := f.dropReplaced(pods); err != nil {
		f.fail(err)
		return true
	}
	for _, p := range pods {
		s := f.judge(p)
		f.tell(p, s)
		switch s.Phase {
		case Running, Ended:
			running++
			f.begin(p)
		case Failed, Broken:
			err := s.AsError()
			if s.Phase == Failed && f.Attempts > 0 {
				err = f.awaitSuccessor(p, s)
			}
			if err == nil {
				continue
			}
			f.fail(err)
			return true
		}
	}
	if running == f.Pods && !f.all {
		starting.Stop()
		f.all = true
		f.callStarted(pods)
		if f.Wait == 0 {
			return true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err != nil || len(f.done) == f.Pods
}

func (f *follower) callStarted(pods []*corev1.Pod) {
	if f.Options.Started == nil {
		return
	}
	f.wait.Go(func() {
		if err := f.Options.Started(f.ctx, pods); err != nil && f.ctx.Err() == nil {
			f.fail(err)
			f.stop(err)
		}
	})
}

func (f *follower) tell(p *corev1.Pod, s State) {
	text := s.Text
	if text == "" {
		text = fmt.Sprintf("%s: %s", p.Name, phaseNames[s.Phase])
	}
	if f.told[p.Name] != text {
		f.told[p.Name] = text
		f.Notify(text)
	}
}

var phaseNames = [...]string{Waiting: "waiting", Running: "running", Ended: "ended", Failed: "failed",
	Broken: "cannot start"}

// begin starts the collection from a running pod: the pod sends its results as soon as its command ends.
func (f *follower) begin(p *corev1.Pod) {
	if f.Wait == 0 || f.collecting[p.Name] != nil {
		return
	}
	ctx, cancel := context.WithCancel(f.ctx)
	f.collecting[p.Name] = cancel
	f.wait.Go(func() {
		defer cancel()
		end, err := f.fetch(ctx, p)
		for err != nil && f.mayRecover(ctx, p, err) {
			end, err = f.fetch(ctx, p)
		}
		if err != nil {
			if ctx.Err() == nil {
				f.fail(err)
				f.stop(err)
			}
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.done[p.Name] = end
		if len(f.done) == f.Pods {
			f.stop(errAll)
		}
	})
}

func (f *follower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// fetch collects a pod's results and lets the pod end.
func (f *follower) fetch(ctx context.Context, p *corev1.Pod) (Pod, error) {
	i := indexOf(p)
	to := filepath.Join(f.Output, fmt.Sprintf("%s_%d", f.ID, i))
	m, err := f.collector.collect(ctx, p.Name, f.Folder(i), to)
	if err != nil {
		return Pod{}, err
	}
	log := f.collector.saveLog(ctx, p, filepath.Join(f.Output, "logs"))
	ended, err := readEnd(to)
	if err != nil {
		return Pod{}, err
	}
	if ended > exit.StatusInvalid {
		f.Notify(fmt.Sprintf("%s: the command ended with code %d: %s", p.Name, ended, lastLine(log)))
	}
	f.Notify(fmt.Sprintf("%s: collected %d files, %d bytes", p.Name, len(m.Files), m.Bytes()))
	if err := f.collector.release(ctx, p.Name, f.Folder(i)); err != nil {
		f.Notify(fmt.Sprintf("%s: it could not be released: %v", p.Name, err))
	}
	return Pod{Name: p.Name, Index: i, Exit: ended, Folder: to, Bytes: m.Bytes()}, nil
}

func (f *follower) result() *Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &Result{Pods: make([]Pod, 0, len(f.done))}
	for i := range f.Pods {
		for _, p := range f.done {
			if p.Index == i {
				r.Pods = append(r.Pods, p)
			}
		}
	}
	return r
}

// indexOf returns the completion index of a pod of an indexed job; 0 without one.
func indexOf(p *corev1.Pod) int {
	i, _ := strconv.Atoi(p.Annotations["batch.kubernetes.io/job-completion-index"])
	return i
}

func readEnd(folder string) (int, error) {
	text, err := os.ReadFile(filepath.Join(folder, "worker.json"))
	if err != nil {
		return 0, exit.Environment(cluster.Launcher, "Look at the pod's log",
			"the results do not show how the command ended: %w", err)
	}
	return parseEnd(text)
}
