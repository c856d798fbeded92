package plan

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// aClient is the plan of a client of two servers.
func aClient(t *testing.T, scenario string, more Settings) *Plan {
	t.Helper()
	s := Settings{"model": "llama3.1-8b", "scenario": scenario, "endpoint": "http://a:1,http://b:2"}
	for name, text := range more {
		s[name] = text
	}
	return planned(t, 10, s)
}

func TestStrategiesOfOffline(t *testing.T) {
	for strategy, want := range map[string]struct{ concurrency, perEndpoint, batch int }{
		"window": {2 * offlineWindow, 0, 0}, "all": {0, 0, 0}, "serial": {2, 1, 0}, "batch": {2, 0, defaultBatch},
	} {
		p := aClient(t, "Offline", Settings{"offline-strategy": strategy})
		c := backends.Config{}
		c.API = "completions"
		require.NoError(t, p.place(&c))
		require.Equal(t, want.concurrency, p.Config.Int("concurrency"), strategy)
		require.Equal(t, want.perEndpoint, c.PerEndpoint, strategy)
		require.Equal(t, want.batch, c.Batch, strategy)
		c.API = "chat"
		err := p.place(&c)
		require.Equal(t, strategy == "batch", err != nil, "%s: %v", strategy, err)
	}
	c := backends.Config{}
	require.NoError(t, aClient(t, "Server", Settings{"offline-strategy": "batch"}).place(&c))
	require.Zero(t, c.Batch, "a Server test has no strategy")
}

func TestSettingsThatContradictTheStrategy(t *testing.T) {
	for concurrency, code := range map[string]string{"8": "offline_strategy", "0": ""} {
		p := aClient(t, "Offline", Settings{"offline-strategy": "all"})
		require.NoError(t, p.checkOffline())
		require.NoError(t, p.Config.Set("concurrency", concurrency, config.Origin{Layer: config.FromFlag, Where: "test"}))
		if err := p.checkOffline(); code == "" {
			require.NoError(t, err)
		} else {
			require.EqualValues(t, code, exit.Classify(err).Code)
		}
	}
	for _, c := range []struct {
		scenario string
		settings Settings
		notices  int
	}{
		{"Offline", Settings{"batch-size": "8"}, 1},
		{"Offline", Settings{"batch-size": "8", "offline-strategy": "batch"}, 0},
		{"Server", Settings{"batch-size": "8"}, 0},
	} {
		p := aClient(t, c.scenario, c.settings)
		p.Client.notices = nil
		require.NoError(t, p.checkOffline())
		require.Len(t, p.Client.notices, c.notices, "%v", c.settings)
	}
}

func TestConnectionsOfATest(t *testing.T) {
	for _, c := range []struct {
		scenario    string
		settings    Settings
		concurrency int
		want        int
	}{
		{"Offline", nil, 7, 7},
		{"Server", nil, 0, 0},
		{"Offline", Settings{"mode": "accuracy", "samples": "9"}, 0, 9},
		{"Offline", Settings{"target-qps": "10", "min-duration": "100s", "min-queries": "500"}, 0, 1100},
		{"Offline", Settings{"target-qps": "1", "min-duration": "100s", "min-queries": "500"}, 0, 500},
	} {
		p := aClient(t, c.scenario, c.settings)
		reached := &backends.Config{}
		reached.Concurrency = c.concurrency
		require.Equal(t, c.want, p.Connections(reached), "%s %v", c.scenario, c.settings)
	}
	require.Contains(t, aClient(t, "Offline", nil).FewerConnections(), "lower --concurrency")
	require.Contains(t, aClient(t, "Offline", Settings{"offline-strategy": "all"}).FewerConnections(), "window")
}

func TestProbesOfSingleStreamAreWholeAnswers(t *testing.T) {
	p := aClient(t, "Server", Settings{"max-tokens": "77"})
	require.Equal(t, 8, p.probeTokens())
	p.Scenario.LoadGen = models.SingleStream
	require.Equal(t, 77, p.probeTokens())
}

func TestInvalidProxies(t *testing.T) {
	for _, c := range []struct {
		settings Settings
		code     string
	}{
		{Settings{"proxy": "http://p:1"}, ""},
		{Settings{"proxy": "ftp://p:1"}, "proxy"},
		{Settings{"proxy": "http://p:1", "endpoint": "unix:///tmp/socket"}, "proxy"},
		{Settings{"endpoint": "unix:///tmp/socket"}, ""},
		{Settings{"ca-file": "/no/such"}, "ca_file"},
		{Settings{"client-cert": "/no/such", "client-key": "/no/such"}, "client_cert"},
	} {
		reached, err := aClient(t, "Server", c.settings).Reach()
		if c.code == "" {
			require.NoError(t, err)
			require.Equal(t, c.settings["proxy"], reached.Proxy)
			continue
		}
		require.Error(t, err, "%v", c.settings)
		require.EqualValues(t, c.code, exit.Classify(err).Code, "%v", err)
	}
}

func TestFormatsOfAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "schema.json")
	of := func(format string) (*backends.Format, error) {
		return aClient(t, "Server", Settings{"response-format": format}).Client.requests.format()
	}
	for _, format := range []string{"", "text"} {
		f, err := of(format)
		require.NoError(t, err)
		require.Nil(t, f)
	}
	f, err := of("json_object")
	require.NoError(t, err)
	require.Empty(t, f.Schema)
	require.NotNil(t, f)
	require.NoError(t, os.WriteFile(path, []byte("{ \"type\": \"object\" }\n"), 0o644))
	f, err = of(path)
	require.NoError(t, err)
	require.Equal(t, `{"type":"object"}`, string(f.Schema))
	for _, text := range []string{"[1]", "{", ""} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err = of(path)
		require.ErrorContains(t, err, "does not contain a JSON object", text)
	}
	_, err = of("no/such/file")
	require.ErrorContains(t, err, "open no/such/file: no such file or directory")
	_, err = of("benchmark")
	require.ErrorContains(t, err, "the benchmark has none")
	_, err = of(path + "x")
	require.ErrorContains(t, err, "cannot be read")
}

func TestLongestPrompt(t *testing.T) {
	d := &Data{}
	require.Zero(t, d.LongestPrompt())
	d.file = &datasets.Dataset{Samples: []datasets.Sample{{InputLen: 3}, {InputLen: 9}, {InputLen: 5}}}
	require.Equal(t, 9, d.LongestPrompt())
	d.Dataset = &datasets.Dataset{Samples: d.file.Samples[:1]}
	require.Equal(t, 3, d.LongestPrompt())
}

func TestNameOfTheSUT(t *testing.T) {
	require.Equal(t, "mlperf-go m", aClient(t, "Server", nil).SUTName("m"))
	require.Equal(t, NetworkSUT+" mlperf-go m", aClient(t, "Server", Settings{"network-sut": "true"}).SUTName("m"))
}
