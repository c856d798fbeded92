package servers

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/secret"
)

// A secret from any source reaches the server, which prints it. Neither the state, the record, a message, nor the end
// of the log in them contains it.
func TestNoSecretLeavesTheServer(t *testing.T) {
	secrets := map[string]string{}
	hush := func(name string) string {
		secrets[name] = "hush-" + name + "-Zq7"
		return secrets[name]
	}
	known := &secret.Redactor{}
	environ := append(os.Environ(), "SOME_API_TOKEN="+hush("inherited"),
		"MIRROR=https://me:"+hush("address")+"@mirror.example/")
	c, err := Parse("file", strings.NewReader(childFile(t, "", 1,
		"server_args: [--API-KEY, "+hush("upper")+", --ssl-keyfile-password="+hush("password")+", --hf_token, "+
			hush("underscore")+", --extra, '{\"db_password\": \""+hush("json")+"\"}']",
		"pre_start: ['export PLAIN="+hush("plain")+"', 'export HF_TOKEN=\""+hush("token")+
			"\" B=1', 'export MADE=$(printf %s%s hush-made -Zq7)', 'login --token "+hush("flag")+" || true']",
	)))
	require.NoError(t, err)
	secrets["made"] = "hush-made-Zq7"
	c.Environment = map[string]string{"LICENSE": hush("license"), "VLLM_API_KEY": hush("engine")}
	for _, mode := range []string{"env,args,fail", "env,args,serve"} {
		c.Environment[modeName] = mode
		p, err := NewPlan(c, Options{GPUsPerReplica: unset, Environ: environ, Secrets: known})
		require.NoError(t, err)
		n := &notes{}
		f, err := Start(t.Context(), p, n.add)
		var texts []any
		if mode == "env,args,fail" {
			require.ErrorContains(t, err, "started as")
			texts = append(texts, err.Error())
		} else {
			require.NoError(t, err)
			texts = append(texts, f.State())
			require.NoError(t, f.Stop())
		}
		state, err := os.ReadFile(filepath.Join(p.Dir, StateName))
		require.NoError(t, err)
		s, err := ReadState(p.Dir)
		require.NoError(t, err)
		texts = append(texts, p.Shown(), string(state), s.Facts(time.Time{}, time.Now()), n.list)
		log, err := os.ReadFile(p.Replicas[0].Log)
		require.NoError(t, err)
		for name, value := range secrets {
			if name != "flag" { // the command that gets it does not exist
				require.Contains(t, string(log), value, "the server has %s", name)
			}
			for i, text := range texts {
				b, err := json.Marshal(text)
				require.NoError(t, err)
				require.NotContains(t, string(b), value, "%s, text %d of %s", name, i, mode)
			}
		}
	}
}

// Only the user can read folders and files of servers unless they are shared.
func TestFilePermissions(t *testing.T) {
	for _, shared := range []bool{false, true} {
		p := childPlan(t, "serve", 1, "output_dir: '"+filepath.Join(t.TempDir(), "new")+"'")
		if p.access.File() != 0o600 {
			t.Fatal("a plan is private")
		}
		if shared {
			p.access = 0o044
		}
		f, err := Start(t.Context(), p, nil)
		require.NoError(t, err)
		require.NoError(t, f.Stop())
		found := 0
		require.NoError(t, filepath.WalkDir(p.Dir, func(path string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			found++
			require.Equal(t, shared, info.Mode().Perm()&0o044 != 0, "%s has %v", path, info.Mode())
			require.Zero(t, info.Mode().Perm()&0o022, path)
			return nil
		}))
		require.Greater(t, found, 3, fmt.Sprint(p.Dir))
	}
}
