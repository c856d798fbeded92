package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// placementFlags select the nodes of pods.
func placementFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "node-selector", Usage: "label of the nodes: KEY=VALUE"},
		&cli.StringSliceFlag{Name: "toleration", Usage: "taint of nodes on which the pods may run: KEY[=VALUE][:EFFECT]"},
	}
}

// placementOf reads placementFlags.
func placementOf(c *cli.Context) (p objects.Placement, err error) {
	if p.NodeSelector, err = pairs(c, "node-selector"); err != nil {
		return p, err
	}
	for _, text := range c.StringSlice("toleration") {
		t, err := tolerationOf(text)
		if err != nil {
			return p, err
		}
		p.Tolerations = append(p.Tolerations, t)
	}
	return p, nil
}

// effects are the effects of a taint; a toleration without one applies to all.
var effects = []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
	corev1.TaintEffectNoExecute}

// tolerationOf parses the notation of `kubectl taint`. Without a value, any value is tolerated.
func tolerationOf(text string) (corev1.Toleration, error) {
	taint, effect, _ := strings.Cut(text, ":")
	key, value, hasValue := strings.Cut(taint, "=")
	t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
	if hasValue {
		t.Operator, t.Value = corev1.TolerationOpEqual, value
	}
	if key == "" || !slices.Contains(effects, t.Effect) {
		return t, exit.Usage(exit.CodeUsage, "Write it as kubectl taint does, such as dedicated=bench:NoSchedule",
			"--toleration %q: expected KEY[=VALUE][:EFFECT] with the effect NoSchedule, PreferNoSchedule or NoExecute", text)
	}
	return t, nil
}
