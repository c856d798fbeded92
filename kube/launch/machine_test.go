package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/mlperf-go/mlperf-go/internal/parcel"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// machine is a launch of one pod in a fake cluster with a fake clock, which goes on whenever all goroutines wait. Each
// step waits for a time and then changes the pod.
type machine struct {
	t      *testing.T
	client *fake.Clientset
	runner *runner
	told   []string
	// send plays the results' stream of the program in the pod, which follows the end of its command.
	send func(ctx context.Context, have []parcel.File, out io.Writer) error
}

const (
	startLimit = 15 * time.Minute
	waitLimit  = time.Hour
	// takes is how long the command of a pod runs.
	takes = 10 * time.Minute
)

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, client: fake.NewClientset()}
	o := Options{Launch: kubetest.Launch("bench", "x"), Start: startLimit, Wait: waitLimit, Output: t.TempDir()}
	o.Notify = func(s string) { m.told = append(m.told, s) }
	m.runner = newRunner(&cluster.Cluster{Client: m.client}, o)
	m.runner.collector.exec = m.exec
	m.send = func(ctx context.Context, have []parcel.File, out io.Writer) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(takes):
		}
		return m.results(map[string]string{"worker.json": `{"exit": 0}`}, have, out)
	}
	return m
}

func (m *machine) exec(ctx context.Context, _ string, args []string, in io.Reader, out io.Writer) error {
	if args[1] == "release" {
		return nil
	}
	var request struct{ Have []parcel.File }
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return err
	}
	return m.send(ctx, request.Have, out)
}

// results sends files as a parcel.
func (m *machine) results(files map[string]string, have []parcel.File, out io.Writer) error {
	dir := m.t.TempDir()
	for name, text := range files {
		require.NoError(m.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	root, err := os.OpenRoot(dir)
	require.NoError(m.t, err)
	defer root.Close()
	return parcel.Send(out, root, have)
}

// pod creates or changes the only pod.
func (m *machine) pod(changes ...func(*corev1.Pod)) {
	p := podWith(func(p *corev1.Pod) {
		p.Namespace, p.Labels = "bench", m.runner.Labels()
		p.Annotations = map[string]string{"batch.kubernetes.io/job-completion-index": "0"}
		for _, change := range changes {
			change(p)
		}
	})
	pods := m.client.CoreV1().Pods("bench")
	_, err := pods.Update(m.t.Context(), p, metav1.UpdateOptions{})
	if err != nil {
		_, err = pods.Create(m.t.Context(), p, metav1.CreateOptions{})
	}
	require.NoError(m.t, err)
}

func (m *machine) remove() {
	require.NoError(m.t, m.client.CoreV1().Pods("bench").Delete(m.t.Context(), "pod", metav1.DeleteOptions{}))
}

func running(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }

// disrupted marks a pod for deletion by the cluster.
func disrupted(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: reason}}
	}
}

// step changes the pod some time after the step before it.
type step struct {
	after time.Duration
	do    func(m *machine)
}

func to(after time.Duration, changes ...func(*corev1.Pod)) step {
	return step{after, func(m *machine) { m.pod(changes...) }}
}

// course is what happens to a launch, and how and when it ends.
type course struct {
	steps []step
	at    time.Duration // of the end
	code  exit.Code     // empty: the results were collected
	text  string        // in the error
}

// at1 is a course whose running pod changes after a minute, at which the launch ends.
func at1(change func(*corev1.Pod), code exit.Code, text string) course {
	return course{[]step{to(0, running), to(time.Minute, change)}, time.Minute, code, text}
}

// courses are all ways through the states of a pod, with every reason of the tables.
func courses() map[string]course {
	noNode := func(p *corev1.Pod) { unschedulable(time.Now(), "")(p) }
	deleted := func(p *corev1.Pod) {
		running(p)
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Now()}, []string{"test/hold"}
	}
	all := map[string]course{
		"all is well":    {[]step{to(time.Minute), to(time.Minute, running)}, 2*time.Minute + takes, "", ""},
		"starts in time": {[]step{to(startLimit-1, running)}, startLimit - 1 + takes, "", ""},
		"starts late":    {[]step{to(startLimit+1, running)}, startLimit, cluster.Timeout, "did not start within 15m0s"},
		"no pod":         {nil, startLimit, cluster.Timeout, "did not start within 15m0s"},
		"no node":        {[]step{to(0, noNode)}, unschedulableAfter + recheck, cluster.Scheduling, "0/3 nodes"},
		"a late node":    {[]step{to(0, noNode), to(unschedulableAfter, running)}, unschedulableAfter + takes, "", ""},
		"still creating": {[]step{to(0, waitingFor("ContainerCreating")), to(time.Minute, running)}, time.Minute + takes,
			"", ""},
		"repeated ends": at1(waitingFor("CrashLoopBackOff"), cluster.Launcher, "ends repeatedly"),
		"killed":        at1(ended("Error", 137, 9), cluster.Launcher, "SIGKILL"),
		"being deleted": at1(deleted, cluster.Launcher, "the pod or its namespace was deleted"),
		"gone": {[]step{to(0, running), {time.Minute, (*machine).remove}}, time.Minute, cluster.Launcher,
			"the pod is gone"},
		"gone before it ran": {[]step{to(0), {time.Minute, (*machine).remove}}, startLimit, cluster.Timeout,
			"did not start"},
	}
	for reason, remedy := range brokenReasons {
		all["waits: "+reason] = course{[]step{to(0), to(time.Minute, waitingFor(reason))}, time.Minute, cluster.Launcher,
			"(" + reason + "): because\\u001b[31m. " + remedy}
	}
	for reason, why := range lostReasons {
		all["pod: "+reason] = at1(func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, reason },
			classOf(reason), why)
		all["container: "+reason] = at1(ended(reason, 137, 9), classOf(reason), why)
	}
	for reason, why := range disruptionReasons {
		all["disrupted: "+reason] = at1(disrupted(reason), cluster.Launcher, why+" ("+reason+")")
	}
	return all
}

// TestStates runs launches through every reason for which a pod waits or ends, and past every limit. Each launch ends
// at the exact time, with the class and the words of its reason.
func TestStates(t *testing.T) {
	for name, c := range courses() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(t)
				result, took, err := m.follow(t.Context(), c.steps)
				require.Equal(t, c.at, took, "%v", err)
				if c.code != "" {
					requireError(t, err, c.code, c.text)
					return
				}
				require.NoError(t, err)
				require.Len(t, result.Pods, 1)
			})
		})
	}
}

// follow follows the pod while the steps change it, and returns how long it took on the fake clock.
func (m *machine) follow(ctx context.Context, steps []step) (*Result, time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		synctest.Wait() // the fake cluster forgets changes between a list and the watch that follows it
		for _, s := range steps {
			select {
			case <-ctx.Done():
				return
			case <-time.After(s.after):
				s.do(m)
			}
		}
	})
	began := time.Now()
	result, err := m.runner.follow(ctx)
	took := time.Since(began)
	stop()
	done.Wait()
	return result, took, err
}

// TestStateOfAStuckCommand: a command that does not end is cut off by the limit, and by a signal of the user.
func TestStateOfAStuckCommand(t *testing.T) {
	for _, after := range []time.Duration{time.Minute, waitLimit + time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			m := newMachine(t)
			m.send = func(ctx context.Context, _ []parcel.File, _ io.Writer) error {
				<-ctx.Done()
				return ctx.Err()
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			interrupt := func(*machine) { cancel(exit.Interrupt{Signal: syscall.SIGINT}) }
			_, took, err := m.follow(ctx, []step{to(0, running), {after, interrupt}})
			require.Equal(t, min(after, waitLimit), took)
			if after > waitLimit {
				requireError(t, err, cluster.Timeout, "did not end within 1h0m0s", "kube collect -p bench x")
				return
			}
			require.ErrorAs(t, err, new(exit.Interrupt))
		})
	}
}

// TestStateAfterDroppedWatches ends every watch after some seconds. The launch sees the changes of the pod anyway.
func TestStateAfterDroppedWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, watches := newMachine(t), 0
		m.client.PrependWatchReactor("pods", func(a kubetesting.Action) (bool, apiwatch.Interface, error) {
			watches++
			w, err := m.client.Tracker().Watch(a.GetResource(), a.GetNamespace())
			if err == nil {
				time.AfterFunc(7*time.Second, w.Stop)
			}
			return true, w, err
		})
		_, took, err := m.follow(t.Context(), []step{to(time.Minute), to(time.Minute, running),
			to(time.Minute, ended("OOMKilled", 137, 9))})
		requireError(t, err, cluster.Launcher, "it needed more than its memory")
		require.InDelta(t, 3*time.Minute, took, float64(time.Minute)) // the informer waits longer after each drop
		require.Greater(t, watches, 3)
	})
}

// TestStateOfCutStreams cuts the stream of the results at random places. After up to four cuts the files are complete,
// and files that have arrived are not asked for again; a fifth cut ends the collection.
func TestStateOfCutStreams(t *testing.T) {
	files := map[string]string{"worker.json": `{"exit": 0}`}
	for i := range 5 {
		noise := make([]byte, 20_000)
		for j := range noise {
			noise[j] = byte(rand.IntN(256))
		}
		files[fmt.Sprint(i)] = string(noise)
	}
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			m, cuts, had := newMachine(t), int(seed%6), 0
			m.send = func(_ context.Context, have []parcel.File, out io.Writer) error {
				require.GreaterOrEqual(t, len(have), had)
				had = len(have)
				var stream bytes.Buffer
				if err := m.results(files, have, &stream); err != nil || cuts == 0 {
					return errors.Join(err, copyTo(out, &stream))
				}
				cuts--
				part := io.LimitReader(&stream, random.Int64N(int64(stream.Len())))
				return errors.Join(copyTo(out, part), io.ErrUnexpectedEOF)
			}
			lost := cuts == attempts
			result, took, err := m.follow(t.Context(), []step{to(0, running)})
			if lost {
				requireError(t, err, cluster.Collection)
				require.Equal(t, (5+10+15+20)*time.Second, took)
				return
			}
			require.NoError(t, err)
			for name, text := range files {
				got, err := os.ReadFile(filepath.Join(result.Pods[0].Folder, name))
				require.NoError(t, err)
				require.Equal(t, text, string(got))
			}
		})
	}
}

func copyTo(out io.Writer, in io.Reader) error {
	_, err := io.Copy(out, in)
	return err
}
