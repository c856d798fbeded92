package run

import (
	"cmp"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

func offlinePlan(t *testing.T, s Settings) (*plan.Plan, *backends.Config) {
	all := Settings{"model": "llama3.1-8b", "endpoint": "http://127.0.0.1:1", "backend": "parrot"}
	for name, text := range s {
		all[name] = text
	}
	p, err := newPlan(all)
	require.NoError(t, err)
	require.NoError(t, p.Bind(100))
	_, c, err := p.OpenDriver()
	require.NoError(t, err)
	return p, c
}

// The effect of the strategies on a backend's configuration.
func TestOfflineStrategies(t *testing.T) {
	for _, x := range []struct {
		set                             Settings
		concurrency, perEndpoint, batch int
	}{
		{nil, 1024, 0, 0},
		{Settings{"endpoint": "http://a:1,http://b:1"}, 2048, 0, 0},
		{Settings{"concurrency": "7"}, 7, 0, 0},
		{Settings{"offline-strategy": "all"}, 0, 0, 0},
		{Settings{"offline-strategy": "all", "concurrency": "0"}, 0, 0, 0},
		{Settings{"offline-strategy": "serial", "endpoint": "http://a:1,http://b:1,http://c:1"}, 3, 1, 0},
		{Settings{"offline-strategy": "batch"}, 1, 0, 64},
		{Settings{"offline-strategy": "batch", "batch-size": "5", "concurrency": "2"}, 2, 0, 5},
		{Settings{"scenario": "Server", "target-qps": "1", "offline-strategy": "serial"}, 0, 0, 0},
	} {
		_, c := offlinePlan(t, x.set)
		require.Equal(t, []int{x.concurrency, x.perEndpoint, x.batch}, []int{c.Concurrency, c.PerEndpoint, c.Batch}, "%v",
			x.set)
	}
}

func TestConnectionsThatATestNeeds(t *testing.T) {
	for _, x := range []struct {
		set  Settings
		mode models.Mode
		want int
	}{
		{Settings{"concurrency": "9"}, models.Performance, 9},
		{Settings{"concurrency": "1"}, models.Performance, 1},
		{Settings{"offline-strategy": "all", "min-queries": "300", "target-qps": "1", "min-duration": "10"},
			models.Performance, 300},
		{Settings{"offline-strategy": "all", "min-queries": "300", "target-qps": "1000", "min-duration": "10"},
			models.Performance, 11000},
		{Settings{"offline-strategy": "all", "mode": "accuracy", "samples": "50"}, models.Accuracy, 50},
		{Settings{"scenario": "Server", "target-qps": "1"}, models.Performance, 0},
	} {
		p, c := offlinePlan(t, x.set)
		require.Equal(t, x.want, p.Connections(c), "%v", x.set)
	}
}

// A context must have room for the longest prompt with its answer, and for more than the answer.
func TestContextLengths(t *testing.T) {
	p, _ := offlinePlan(t, Settings{"max-tokens": "100", "concurrency": "1"})
	for _, c := range []struct {
		context, prompt int
		words           string // empty: long enough
	}{
		{0, 50, ""}, {150, 50, ""}, {149, 50, "the longest prompt has 50 and its answer may have 100"},
		{101, 0, ""}, {100, 0, "context of 100 tokens, and answers may have 100"}, {101, 1, ""},
	} {
		p.Dataset = &datasets.Dataset{Samples: []datasets.Sample{{InputLen: c.prompt}}}
		err := (&prober{plan: p}).checkLengths(&Preflight{Endpoints: []*backends.Probe{{URL: "u", MaxModelLen: c.context}}})
		if c.words == "" {
			require.NoError(t, err, c)
			continue
		}
		require.ErrorContains(t, err, c.words)
		require.EqualValues(t, "context_length", Classify(err).Code)
	}
}

// A test that would exceed a limit on connections is rejected before it begins, and the error contains a remedy.
func TestConnectionsAreReserved(t *testing.T) {
	p, c := offlinePlan(t, Settings{"concurrency": "10"})
	pre := &Preflight{}
	require.NoError(t, (&prober{plan: p, config: c}).reserveConnections(pre, thisHost))
	require.Positive(t, pre.LocalPorts)

	p, c = offlinePlan(t, Settings{"offline-strategy": "all", "min-queries": "9000000000"})
	err := (&prober{plan: p, config: c}).reserveConnections(pre, thisHost)
	require.ErrorContains(t, err, "open files are needed")
	require.ErrorContains(t, err, "choose --offline-strategy window")
	require.EqualValues(t, "open_files", Classify(err).Code)
}

// withPorts is a host without a limit of open files.
func withPorts(n int, err error) hostLimits {
	return hostLimits{
		func(want uint64) (hostinfo.NoFile, error) { return hostinfo.NoFile{Now: want}, nil },
		func() (int, error) { return n, err },
	}
}

func TestLocalPortsBoundConnections(t *testing.T) {
	const ports = 100
	for name, x := range map[string]struct {
		endpoints []string
		most      int // connections; 0: any number
	}{
		"one address":                   {[]string{"http://a:1"}, ports},
		"two addresses":                 {[]string{"http://a:1", "http://b:1"}, 2 * ports},
		"one address twice":             {[]string{"http://a:1", "http://a:1"}, ports},
		"two ports of a host":           {[]string{"http://a:1", "http://a:2", "http://a:3"}, 3 * ports},
		"a socket has no port":          {[]string{"unix:///run/s"}, 0},
		"a socket beside an address":    {[]string{"unix:///run/s", "http://a:1"}, ports},
		"no endpoint, as with parrot":   {nil, 0},
		"two sockets beside an address": {[]string{"unix:///run/s", "unix:///run/t", "http://a:1"}, ports},
	} {
		t.Run(name, func(t *testing.T) {
			p, c := offlinePlan(t, nil)
			c.Endpoints = nil
			for _, url := range x.endpoints {
				c.Endpoints = append(c.Endpoints, backends.Endpoint{URL: url})
			}
			pre := &Preflight{}
			c.Concurrency = cmp.Or(x.most, 1_000_000)
			require.NoError(t, (&prober{plan: p, config: c}).reserveConnections(pre, withPorts(ports, nil)))
			require.Equal(t, ports, pre.LocalPorts)
			require.EqualValues(t, c.Concurrency+spareFiles, pre.OpenFiles.Now, "files are needed beside the connections")
			require.Empty(t, pre.Notes)
			if x.most == 0 {
				return
			}
			c.Concurrency++
			err := (&prober{plan: p, config: c}).reserveConnections(pre, withPorts(ports, nil))
			require.EqualValues(t, "local_ports", Classify(err).Code)
			require.Equal(t, ExitEnvironment, Classify(err).Exit)
			require.ErrorContains(t, err, "ip_local_port_range")
			require.ErrorContains(t, err, fmt.Sprintf("the test needs %d connections to %d addresses, and this machine has %d "+
				"local ports", c.Concurrency, x.most/ports, ports))
			require.ErrorContains(t, err, "lower --concurrency")
		})
	}
	p, c := offlinePlan(t, nil)
	pre := &Preflight{}
	require.NoError(t, (&prober{plan: p, config: c}).reserveConnections(pre, withPorts(0, errors.New("no /proc"))),
		"an unknown number rejects no test")
	require.Equal(t, []string{"the number of local ports is not known: no /proc"}, pre.Notes)
}
