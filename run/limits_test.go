package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/models"
)

func offlinePlan(t *testing.T, s Settings) (*Plan, *backends.Config) {
	all := Settings{"model": "llama3.1-8b", "endpoint": "http://127.0.0.1:1", "backend": "parrot"}
	for name, text := range s {
		all[name] = text
	}
	p, err := New(all)
	require.NoError(t, err)
	require.NoError(t, p.Bind(100))
	_, c, err := p.openDriver()
	require.NoError(t, err)
	return p, c
}

// What the strategies mean for a backend.
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
		require.Equal(t, []int{x.concurrency, x.perEndpoint, x.batch}, []int{c.Concurrency, c.PerEndpoint, c.Batch}, "%v", x.set)
	}
}

func TestConnectionsThatATestNeeds(t *testing.T) {
	for _, x := range []struct {
		set  Settings
		mode models.Mode
		want int
	}{
		{Settings{"concurrency": "9"}, models.Performance, 9},
		{Settings{"offline-strategy": "all", "min-queries": "300", "target-qps": "1", "min-duration": "10"}, models.Performance, 300},
		{Settings{"offline-strategy": "all", "min-queries": "300", "target-qps": "1000", "min-duration": "10"}, models.Performance, 11000},
		{Settings{"offline-strategy": "all", "mode": "accuracy", "samples": "50"}, models.Accuracy, 50},
		{Settings{"scenario": "Server", "target-qps": "1"}, models.Performance, 0},
	} {
		p, c := offlinePlan(t, x.set)
		require.Equal(t, x.want, p.connections(c), "%v", x.set)
	}
}

// A test that can not have its connections is refused before it begins, with what to do.
func TestConnectionsAreReserved(t *testing.T) {
	p, c := offlinePlan(t, Settings{"concurrency": "10"})
	pre := &Preflight{}
	require.NoError(t, p.reserveConnections(pre, c))
	require.Positive(t, pre.LocalPorts)

	p, c = offlinePlan(t, Settings{"offline-strategy": "all", "min-queries": "9000000000"})
	err := p.reserveConnections(pre, c)
	require.ErrorContains(t, err, "open files are needed")
	require.ErrorContains(t, err, "choose --offline-strategy window")
	require.Equal(t, "open_files", Classify(err).Code)

	if need := pre.LocalPorts + 1; uint64(need)+spareFiles <= pre.OpenFiles.Hard {
		p, c = offlinePlan(t, Settings{})
		c.Concurrency = need
		err = p.reserveConnections(pre, c)
		require.Equal(t, "local_ports", Classify(err).Code)
		require.Equal(t, ExitEnvironment, Classify(err).Exit)
		require.ErrorContains(t, err, "ip_local_port_range")
		c.Endpoints = append(c.Endpoints, backends.Endpoint{URL: "http://127.0.0.2:1"})
		require.NoError(t, p.reserveConnections(pre, c), "another address has ports of its own")
		c.Endpoints = []backends.Endpoint{{URL: "unix:///run/s"}}
		require.NoError(t, p.reserveConnections(pre, c), "a socket needs none")
	}
}
