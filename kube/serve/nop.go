package serve

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gopkg.in/yaml.v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/startup"
)

// maxLog bounds the log of a server, in bytes.
const maxLog = 64 << 20

// downGrace is how long a server may take to be gone after its own time to stop.
const downGrace = time.Minute

// NopOptions are how the start of a server is reported.
type NopOptions struct {
	Options
	Engine     string // engine whose wording the log has: vllm or sglang; empty: recognized by its lines
	LoadFormat string // recorded where the log does not name it
	Folder     string // local; receives the report
}

// Nop starts a server of one pod, reports its start from its log, and removes it. A server with sleep mode is put to
// sleep and woken first. The folder receives the files of llm-d-benchmark's nop harness: result.yaml, and the log and
// its categories in a folder named after the pod.
func Nop(ctx context.Context, c *cluster.Cluster, o NopOptions) (*startup.Report, error) {
	if err := Up(ctx, c, o.Options); err != nil {
		return nil, err
	}
	u := &up{Options: o.Options, cluster: c}
	report, err := u.report(ctx, o)
	if o.Keep {
		return report, err
	}
	if removed := Down(context.WithoutCancel(ctx), c, Named{o.Namespace, o.Name}, o.Stop+downGrace); removed != nil {
		if err == nil {
			err = removed
		}
		return report, fmt.Errorf("%w; %s", err, u.removal())
	}
	return report, err
}

func (u *up) report(ctx context.Context, o NopOptions) (*startup.Report, error) {
	pods, err := u.pods(ctx)
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, exit.Environment(cluster.Launcher, "Start it again", "the server %s has %d pods instead of one", u.Name,
			len(pods))
	}
	p := &pods[0]
	dir := filepath.Join(o.Folder, p.Name+"_"+objects.ServerContainer)
	log := filepath.Join(dir, "vllm.log")
	r, err := u.parseLog(ctx, p, log, o.Engine)
	if err == nil && r.NeedsCycle() {
		r, err = u.cycle(ctx, p, r, func() (*startup.Report, error) { return u.parseLog(ctx, p, log, o.Engine) })
	}
	if err != nil {
		return nil, err
	}
	r.LoadFormat = cmp.Or(r.LoadFormat, o.LoadFormat)
	r.Pod = &startup.Pod{Name: p.Name, Container: objects.ServerContainer, Image: u.Image, Start: untilReady(p)}
	report, err := r.LDB()
	if err != nil {
		return nil, err
	}
	for name, document := range map[string]any{"result.yaml": r.Result(), startup.LDBName: report} {
		text, err := yaml.Marshal(document)
		if err != nil {
			return nil, err
		}
		if err := atomicfile.WriteBytes(filepath.Join(o.Folder, name), text); err != nil {
			return nil, err
		}
	}
	return r, atomicfile.Write(filepath.Join(dir, "categories.log"), r.WriteText)
}

// parseLog saves the log of a server and reads it.
func (u *up) parseLog(ctx context.Context, p *corev1.Pod, log, engine string) (*startup.Report, error) {
	if err := u.saveLog(ctx, p, log); err != nil {
		return nil, err
	}
	f, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	options := startup.Options{Server: engine}
	if p.Status.StartTime != nil {
		options.Start = p.Status.StartTime.Time
	}
	r, err := startup.Parse(log, f, options)
	if err != nil {
		return nil, exit.Environment(exit.CodeLog, "The log is kept there", "%w", err)
	}
	return r, nil
}

// cycle makes a server sleep and wake up, and parses its log again. If that fails, the report is r with a note.
func (u *up) cycle(ctx context.Context, p *corev1.Pod, r *startup.Report, parse func() (*startup.Report, error)) (
	*startup.Report, error) {
	url, stop, err := u.cluster.Forward(ctx, u.Namespace, p.Name, u.Port)
	if err == nil {
		defer stop()
		err = startup.MeasureSleep(ctx, url)
	}
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the sleep mode of the server was not measured: %v", err))
		return r, ctx.Err()
	}
	return startup.AwaitCycle(ctx, parse)
}

func (u *up) saveLog(ctx context.Context, p *corev1.Pod, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = u.cluster.Logs(ctx, u.Namespace, p.Name, objects.ServerContainer, maxLog, f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// untilReady returns the seconds from the start of a pod until it was ready; 0: not known.
func untilReady(p *corev1.Pod) float64 {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && p.Status.StartTime != nil {
			return c.LastTransitionTime.Sub(p.Status.StartTime.Time).Seconds()
		}
	}
	return 0
}
