package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDurationsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Second: "1m30s",
		10 * time.Hour: "10h", time.Hour + 10*time.Minute: "1h10m", 20 * time.Second: "20s", 0: "0s"} {
		require.Equal(t, want, formatDuration(d))
	}
}

func TestOldHosts(t *testing.T) {
	e := New(RunSettings())
	require.NoError(t, e.ResolveHost())
	require.False(t, e.IsSet("endpoint"))
	require.NoError(t, e.SetList("host", []string{"a", "[::1]"}, Origin{FromFlag, "--host"}))
	require.NoError(t, e.ResolveHost())
	require.Equal(t, []string{"http://a:8000", "http://[::1]:8000"}, e.Strings("endpoint"))
	require.Equal(t, "flag --host", e.Origin("endpoint").String())
	require.False(t, e.IsSet("host"))

	e = New(RunSettings())
	require.NoError(t, e.SetList("endpoint", []string{"http://b:1"}, Origin{FromFlag, "--endpoint"}))
	require.NoError(t, e.SetList("host", []string{"a"}, Origin{FromFlag, "--host"}))
	require.NoError(t, e.ResolveHost())
	require.Equal(t, []string{"http://b:1"}, e.Strings("endpoint"))
	require.False(t, e.IsSet("host"))
}

func TestOldNamesAreThoseOfTheirSetting(t *testing.T) {
	require.NotEmpty(t, oldFlags)
	for _, f := range oldFlags {
		require.Contains(t, OldNamesOf(f.setting), f.name)
	}
	require.Empty(t, OldNamesOf("no-such-setting"))
	for _, v := range OldVariables() {
		if v.Flag == "output-dir" || v.Flag == "set" { // flags of a command, which are not settings
			continue
		}
		_, _, err := RunSettings().Find(v.Flag)
		require.NoError(t, err, v.Name)
	}
}
