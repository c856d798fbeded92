package serve

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/launch"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// maxRestarts is how often a server may end before it is ready. One restart corrects a failed download.
const maxRestarts = 2

// logLines is how many lines of a log an error quotes.
const logLines = 20

// state is the judgement of a pod's status.
type state struct {
	text    string // one sentence; empty: nothing to report
	fatal   bool   // the pod never becomes ready
	crashed bool   // its server ended; the log states why
	class   exit.Code
}

// judge returns the judgement of a pod's status. Evicted and lost pods are no error, because the cluster replaces them.
func judge(p *corev1.Pod, now time.Time) state {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == objects.ServerContainer && c.RestartCount > 0 {
			return judgeRestarts(p, &c)
		}
	}
	s := launch.Judge(p, now)
	switch s.Phase {
	case launch.Broken:
		return state{text: s.Text, fatal: true, class: s.Class}
	case launch.Running:
		return state{text: p.Name + ": the server is starting"}
	case launch.Ended:
		return state{text: fmt.Sprintf("%s: the server ended with code %d", p.Name, s.Exit)}
	case launch.Failed:
		return state{text: s.Text + "; another pod follows"}
	}
	return state{text: s.Text}
}

func judgeRestarts(p *corev1.Pod, c *corev1.ContainerStatus) state {
	text := fmt.Sprintf("%s: the server ended", p.Name)
	if t := cmp.Or(c.LastTerminationState.Terminated, c.State.Terminated); t != nil {
		text += fmt.Sprintf(" with code %d", t.ExitCode)
		if t.Reason == "OOMKilled" {
			text += ": it needed more than its memory; raise --memory"
		} else if t.Message != "" {
			text += ": " + line(t.Message)
		}
	}
	if c.RestartCount >= maxRestarts {
		return state{text: fmt.Sprintf("%s, %d times", text, c.RestartCount), fatal: true, crashed: true,
			class: cluster.Launcher}
	}
	return state{text: text + ", and is started again"}
}

// explain returns the error of a pod that cannot become ready, with the end of its log if its server ended.
func (u *up) explain(ctx context.Context, p *corev1.Pod, s state) error {
	log := ""
	if s.crashed {
		log = u.log(ctx, p, true)
	}
	return exit.Environment(s.class, "", "%s%s", s.text, log)
}

// log returns the end of a pod's log for an error; empty without one.
func (u *up) log(ctx context.Context, p *corev1.Pod, previous bool) string {
	text, err := u.cluster.LastLines(ctx, u.Namespace, p.Name, objects.ServerContainer, previous, logLines)
	if err != nil && previous {
		text, err = u.cluster.LastLines(ctx, u.Namespace, p.Name, objects.ServerContainer, false, logLines)
	}
	if err != nil || strings.TrimSpace(text) == "" {
		return ""
	}
	return "; the end of its log:\n" + quote(text)
}

// quote returns a foreign text with a bar before each line, without secrets and control characters.
func quote(text string) string {
	lines := strings.Split(strings.TrimSpace(foreign.Lines(secret.Text(text), 4000)), "\n")
	return "  | " + strings.Join(lines[max(0, len(lines)-logLines):], "\n  | ")
}

// line returns a message of the cluster as one line without secrets.
func line(text string) string { return foreign.Line(secret.Text(strings.TrimSpace(text)), 400) }
