package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/internal/worker"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// helperStart is how long the helper pod may take to start.
const helperStart = 5 * time.Minute

// CollectClaim collects an experiment from a claim whose pods are gone; without an id, all experiments there. A helper
// pod mounts the claim and is removed at the end; if this process ends first, the cluster removes it within an hour.
func CollectClaim(ctx context.Context, c *cluster.Cluster, id string, o Options) (*Result, error) {
	if _, err := c.Client.CoreV1().PersistentVolumeClaims(o.Namespace).Get(ctx, o.Storage.Claim,
		metav1.GetOptions{}); err != nil {
		return nil, cluster.Explain(err, "looking for the claim %s in the namespace %q", o.Storage.Claim, o.Namespace)
	}
	o.Launch = helper(o.Launch, id)
	o.Start, o.Wait = helperStart, 0
	r := newRunner(c, o)
	result := &Result{}
	r.Options.Started = func(ctx context.Context, pods []*corev1.Pod) (err error) {
		result, err = r.collectAll(ctx, pods[0].Name, id)
		return err
	}
	if err := r.apply(ctx); err != nil {
		return nil, err
	}
	_, err := r.follow(ctx)
	if removed := r.remove(ctx); removed != nil {
		r.Notify(removed.Error()) // the results count, and the cluster removes the pod by itself
	}
	return result, err
}

// helper returns a launch of one pod that mounts the claim and runs no command.
func helper(l objects.Launch, id string) objects.Launch {
	l.ID = fmt.Sprintf("collect-%.20s-%s", id, strconv.FormatInt(time.Now().UnixMicro(), 36)) // others may collect too
	l.Harness = "mlperf-go"
	l.Pods, l.Idle, l.Profiles, l.Args = 1, true, nil, nil
	l.Hold, l.Expire = 50*time.Minute, 5*time.Minute
	l.Storage.Existing = true
	l.CPU, l.Memory = resource.MustParse("500m"), resource.MustParse("512Mi")
	return l
}

// collectAll collects the folders of an experiment; of all experiments without an id.
func (r *runner) collectAll(ctx context.Context, pod, id string) (*Result, error) {
	volume := filepath.Dir(r.Folder(0))
	var text bytes.Buffer
	if err := r.collector.exec(ctx, pod, []string{"worker", "list", "--results", volume}, nil, &text); err != nil {
		return nil, err
	}
	var list []worker.Listed
	if err := json.Unmarshal(text.Bytes(), &list); err != nil {
		return nil, fmt.Errorf("reading the list of results on the claim %s: %w", r.Storage.Claim, err)
	}
	result, open := &Result{}, []string{}
	for _, l := range list {
		experiment, index, ok := cutIndex(l.Name)
		switch {
		case !ok || id != "" && experiment != id || filepath.Base(l.Name) != l.Name:
		case !l.Ended:
			open = append(open, l.Name)
		default:
			p, err := r.collectFolder(ctx, pod, volume, l.Name, index)
			if err != nil {
				return result, err
			}
			result.Pods = append(result.Pods, p)
		}
	}
	if len(open) > 0 && id != "" {
		return result, exit.Environment(cluster.Launcher, "Their files are on the claim; run the experiment again",
			"the command of %s did not end: no result", strings.Join(open, ", "))
	}
	if len(result.Pods) == 0 {
		return nil, exit.Usage("usage", "Name another claim with --pvc", "the claim %s has no results of the experiment %q",
			r.Storage.Claim, id)
	}
	for _, name := range open {
		r.Notify(name + ": its command did not end; it is left on the claim")
	}
	return result, nil
}

// cutIndex splits the name of a folder of results into the experiment and the index of the pod.
func cutIndex(name string) (experiment string, index int, ok bool) {
	i := strings.LastIndexByte(name, '_')
	index, err := strconv.Atoi(name[i+1:])
	return name[:max(i, 0)], index, i > 0 && err == nil && index >= 0
}

func (r *runner) collectFolder(ctx context.Context, pod, volume, name string, index int) (Pod, error) {
	to := filepath.Join(r.Output, name)
	m, err := r.collector.collect(ctx, pod, volume+"/"+name, to)
	if err != nil {
		return Pod{}, err
	}
	ended, err := readEnd(to)
	if err != nil {
		return Pod{}, err
	}
	r.Notify(fmt.Sprintf("%s: collected %d files, %d bytes", name, len(m.Files), m.Bytes()))
	return Pod{Name: name, Index: index, Exit: ended, Folder: to, Bytes: m.Bytes()}, nil
}
