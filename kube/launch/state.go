package launch

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Phase is how far a pod has come.
type Phase int

// The phases of a pod. A broken pod is final, because a new one would fail in the same way.
const (
	Waiting Phase = iota
	Running
	Ended  // its command ended by itself, with State.Exit
	Failed // it was lost: killed, evicted, or with its node
	Broken // it cannot start
)

// State is what the status of a pod means.
type State struct {
	Phase Phase
	Exit  int       // of the command, in the phase Ended
	Class exit.Code // of the error, in the phases Failed and Broken (cluster.Launcher ...)
	Text  string    // one sentence about a waiting, failed or broken pod
}

// cannotStart is the error of a pod in the phase Broken.
type cannotStart struct{ text string }

func (e cannotStart) Error() string { return e.text }

// CannotStart reports whether a launch failed because its pods cannot start. Another launch would fail the same way.
func CannotStart(err error) bool { return errors.As(err, new(cannotStart)) }

// AsError returns what a lost or broken pod means for its launch.
func (s State) AsError() error {
	if s.Phase == Broken {
		return exit.Environment(s.Class, "", "%w", cannotStart{s.Text})
	}
	return exit.Environment(s.Class, "", "%s", s.Text)
}

// unschedulableAfter is how long a pod may lack a node before that is an error: autoscalers need a minute or two.
const unschedulableAfter = 2 * time.Minute

// brokenReasons are the reasons of waiting containers that retries cannot correct, with the remedy.
var brokenReasons = map[string]string{
	"CreateContainerConfigError": "Create the Secret, the ConfigMap or the claim that the message names",
	"CreateContainerError":       "Check --image and the mounts of the pod",
	"ErrImagePull":               "Check --image and --pull-secret",
	"ImagePullBackOff":           "Check --image and --pull-secret",
	"ErrImageNeverPull":          "Put the image on the nodes, or change the pull policy",
	"InvalidImageName":           "Check --image",
	"RunContainerError":          "Check that the image has the program of the command",
}

// lostReasons are the reasons of ended pods and containers that are not a result of the command.
var lostReasons = map[string]string{
	"OOMKilled":                "it needed more than its memory; raise --memory",
	"Evicted":                  "its node evicted it",
	"NodeLost":                 "its node was lost",
	"Shutdown":                 "its node was shut down",
	"Terminated":               "its node was shut down",
	"NodeShutdown":             "its node was shut down",
	"Preempting":               "another pod took its place",
	"DeadlineExceeded":         "the time of --wait-timeout had passed",
	"UnexpectedAdmissionError": "its node refused it",
}

// disruptionReasons are the reasons of the condition DisruptionTarget, which precedes the deletion of a pod.
var disruptionReasons = map[string]string{
	"DeletionByTaintManager": "its node was lost, or got a taint that the pod does not tolerate",
	"DeletionByPodGC":        "its node is gone",
	"EvictionByEvictionAPI":  "it was evicted, as by a drain of its node",
	"PreemptionByScheduler":  "a pod of a higher priority took its place",
	"TerminationByKubelet":   "its node ended it: the node lacked resources or was shut down",
}

// Judge returns what the status of a pod means at a time.
func Judge(p *corev1.Pod, now time.Time) State {
	if s, ok := judgeDisruption(p); ok {
		return s
	}
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && c.Name == containerOf(p) {
			return judgeEnd(p, t)
		}
	}
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return State{Phase: Ended}
	case corev1.PodFailed:
		why := cmp.Or(lostReasons[p.Status.Reason], p.Status.Reason, "no reason was given")
		return State{Phase: Failed, Class: classOf(p.Status.Reason), Text: sentence(p, "the pod failed: "+why,
			p.Status.Message)}
	case corev1.PodRunning:
		return State{Phase: Running}
	}
	return judgeWaiting(p, now)
}

// containerOf returns the name of the container that measures: the first.
func containerOf(p *corev1.Pod) string {
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return p.Spec.Containers[0].Name
}

// judgeDisruption recognizes pods that the cluster removed: by eviction, preemption, or after the loss of their node.
func judgeDisruption(p *corev1.Pod) (State, bool) {
	if why := lostReasons[p.Status.Reason]; why != "" {
		return State{Phase: Failed, Class: classOf(p.Status.Reason), Text: sentence(p, why, p.Status.Message)}, true
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return State{Phase: Failed, Class: cluster.Launcher,
				Text: sentence(p, cmp.Or(disruptionReasons[c.Reason], "the cluster removed the pod")+" ("+c.Reason+")",
					c.Message)}, true
		}
	}
	if p.DeletionTimestamp != nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
		return State{Phase: Failed, Class: cluster.Launcher,
			Text: sentence(p, "the pod or its namespace was deleted", "")}, true
	}
	return State{}, false
}

func classOf(reason string) exit.Code {
	if reason == "DeadlineExceeded" {
		return cluster.Timeout
	}
	return cluster.Launcher
}

func judgeEnd(p *corev1.Pod, t *corev1.ContainerStateTerminated) State {
	if why := lostReasons[t.Reason]; why != "" {
		return State{Phase: Failed, Class: classOf(t.Reason), Text: sentence(p, why, t.Message)}
	}
	if t.ExitCode == 137 || t.Signal == 9 {
		return State{Phase: Failed, Class: cluster.Launcher, Text: sentence(p, "the pod was killed (SIGKILL)", t.Message)}
	}
	return State{Phase: Ended, Exit: int(t.ExitCode)}
}

func judgeWaiting(p *corev1.Pod, now time.Time) State {
	for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		w := c.State.Waiting
		if w == nil {
			continue
		}
		if remedy := brokenReasons[w.Reason]; remedy != "" {
			return State{Phase: Broken, Class: cluster.Launcher,
				Text: sentence(p, "the pod cannot start ("+w.Reason+")", w.Message) + ". " + remedy}
		}
		if w.Reason == "CrashLoopBackOff" {
			return State{Phase: Failed, Class: cluster.Launcher, Text: sentence(p, "the pod ends repeatedly", w.Message)}
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
			continue
		}
		text := sentence(p, "no node accepts the pod", c.Message)
		if now.Sub(c.LastTransitionTime.Time) > unschedulableAfter {
			if strings.Contains(c.Message, "PersistentVolumeClaim") {
				text += ". Name a --storage-class that offers ReadWriteMany, or omit --pvc"
			}
			return State{Phase: Broken, Class: cluster.Scheduling, Text: text}
		}
		return State{Phase: Waiting, Text: text}
	}
	return State{Phase: Waiting}
}

// sentence joins a description of the event and the cluster's own message, which is foreign text.
func sentence(p *corev1.Pod, what, message string) string {
	text := fmt.Sprintf("%s: %s", p.Name, what)
	if message = strings.TrimSpace(message); message != "" {
		text += ": " + foreign.Line(message, 400)
	}
	return text
}
