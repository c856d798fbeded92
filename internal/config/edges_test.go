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

// A comment has no line break and no control character, of ASCII or of Unicode; everything else stays.
func TestOneLine(t *testing.T) {
	for _, r := range "\x00\x01\t\n\r\x1b\x1f\x7f\u0085\u2028\u2029\ufeff\ufffd" {
		require.Equal(t, "a b", oneLine("a"+string(r)+"b"), "%U", r)
	}
	for _, r := range " ~!\u0080\u00a0\u00ff\u0100\u2027\u202a\ufffc\U0001f600" {
		require.Equal(t, "a"+string(r)+"b", oneLine("a"+string(r)+"b"), "%U", r)
	}
	require.Equal(t, "a  b", oneLine("a\xff\xfeb"), "bytes that are no UTF-8")
}
