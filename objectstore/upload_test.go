package objectstore

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/objectstore/storetest"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// tester fits a test to storetest.
type tester struct{ *testing.T }

func (t tester) Defer(f func()) { t.Cleanup(f) }

var s3Keys = storetest.Keys{ID: "AKID", Secret: "top-secret/+", Session: "session-token==", Region: "eu-west-3"}

// start starts a store for S3, and returns the environment that names it.
func start(t *testing.T) (*storetest.Store, map[string]string) {
	s := storetest.Start(tester{t}, t.TempDir(), s3Keys)
	return s, map[string]string{"AWS_ACCESS_KEY_ID": s3Keys.ID, "AWS_SECRET_ACCESS_KEY": s3Keys.Secret,
		"AWS_SESSION_TOKEN": s3Keys.Session, "AWS_REGION": s3Keys.Region, "AWS_ENDPOINT_URL": s.URL,
		"AWS_CA_BUNDLE": s.CAFile}
}

// open opens a destination with short pauses.
func open(t *testing.T, to string, env map[string]string) *Store {
	t.Helper()
	d, err := Parse(to)
	require.NoError(t, err)
	s, err := Open(d, environment(env))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.pause = func(ctx context.Context, _ time.Duration) error { return sleep(ctx, time.Millisecond) }
	return s
}

// names of the files of a run. The store must get each one unchanged.
var files = map[string]string{"bench.json": "{}", "events.jsonl.zst": strings.Repeat("x", 300_000), "empty.txt": "",
	"server-logs/replica-0.log": "log", "convert/vllm/a b+c$ü~'(1)%41.json": "[]"}

// folder makes a run with things that are not sent.
func folder(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".bench.lock"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".hidden"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".hidden", "x"), nil, 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	return dir
}

// checkObjects requires that a place of a store has the whole folder.
func checkObjects(t *testing.T, s *storetest.Store, place string) {
	t.Helper()
	want := []string{place + "/" + RecordName}
	for name, text := range files {
		want = append(want, place+"/"+name)
		got, _ := s.Object(place + "/" + name)
		require.Equal(t, text, string(got), name)
	}
	slices.Sort(want)
	require.Equal(t, want, s.Names())
}

// TestUpload sends a run over TLS with keys of S3, and sends it again: then only the record.
func TestUpload(t *testing.T) {
	store, env := start(t)
	dir, s := folder(t), open(t, "s3://runs/team a/x", env)
	sent, err := s.Upload(t.Context(), dir, "chat-1")
	require.NoError(t, err)
	checkObjects(t, store, "runs/team a/x/chat-1")
	require.Equal(t, "s3://runs/team a/x/chat-1", sent.URL)
	require.Equal(t, len(files), sent.Verified)
	require.Zero(t, sent.Kept)
	require.EqualValues(t, 300_007, sent.Bytes)
	require.Empty(t, sent.Notes)
	puts := func() (list []string) {
		for _, line := range store.Log() {
			if name, ok := strings.CutPrefix(line, "PUT runs/team a/x/chat-1/"); ok {
				list = append(list, name)
			}
		}
		return list
	}
	require.Equal(t, "empty.txt", puts()[0], "the smallest file shows whether the keys are right")
	require.Equal(t, RecordName, puts()[len(files)], "the record is last")

	local, err := os.ReadFile(filepath.Join(dir, RecordName))
	require.NoError(t, err)
	remote, _ := store.Object("runs/team a/x/chat-1/" + RecordName)
	require.Equal(t, string(local), string(remote))
	var written Sent
	require.NoError(t, json.Unmarshal(local, &written))
	require.Equal(t, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", sumOf(&written, "bench.json"))
	require.NotContains(t, string(local), s3Keys.Secret)
	require.NotContains(t, string(local), s3Keys.Session)

	store.Forget()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "summary.txt"), []byte("new"), 0o600))
	sent, err = s.Upload(t.Context(), dir, "chat-1")
	require.NoError(t, err)
	require.Equal(t, []string{"summary.txt", RecordName}, puts())
	require.Equal(t, len(files), sent.Kept)
	require.Equal(t, len(files)+1, sent.Verified)
}

func sumOf(s *Sent, name string) string {
	i := slices.IndexFunc(s.Files, func(f *File) bool { return f.Name == name })
	return s.Files[i].SHA256
}

// TestAddressing sends to a bucket that is part of the host's name.
func TestAddressing(t *testing.T) {
	store, env := start(t)
	store.Host = "example.com"
	d := Destination{Scheme: S3, Bucket: "runs", Endpoint: "https://example.com", Addressing: "virtual"}
	s, err := Open(d, environment(env))
	require.NoError(t, err)
	defer s.Close()
	s.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(store.URL, "https://"))
	}
	_, err = s.Upload(t.Context(), folder(t), "r")
	require.NoError(t, err)
	checkObjects(t, store, "runs/r")
}

// TestGoogle sends with a token, and with an HMAC key.
func TestGoogle(t *testing.T) {
	for _, keys := range []storetest.Keys{{Bearer: "ya29.token"}, {ID: "GOOG1E", Secret: "top-secret", Region: "auto"}} {
		store := storetest.Start(tester{t}, t.TempDir(), keys)
		d, err := Parse("gs://runs/p")
		require.NoError(t, err)
		o := environment(map[string]string{"STORAGE_EMULATOR_HOST": store.URL, "GS_ACCESS_KEY_ID": keys.ID,
			"GS_SECRET_ACCESS_KEY": keys.Secret, "CLOUDSDK_AUTH_ACCESS_TOKEN": keys.Bearer,
			"AWS_SESSION_TOKEN": "not for Google"})
		o.CAFile = store.CAFile
		s, err := Open(d, o)
		require.NoError(t, err)
		defer s.Close()
		sent, err := s.Upload(t.Context(), folder(t), "r")
		require.NoError(t, err)
		require.Equal(t, len(files), sent.Verified)
		checkObjects(t, store, "runs/p/r")
	}
}

// fault answers requests in an uncommon way.
type fault = func(w http.ResponseWriter, r *http.Request, key string, n int) bool

// only limits a fault to uploads of one file.
func only(f fault) fault {
	return func(w http.ResponseWriter, r *http.Request, key string, n int) bool {
		return r.Method == http.MethodPut && strings.HasSuffix(key, ".zst") && f(w, r, key, n)
	}
}

func cut(w http.ResponseWriter) {
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = c.Close()
	}
}

// TestPassingFaults requires that an upload survives what passes.
func TestPassingFaults(t *testing.T) {
	for name, f := range map[string]fault{
		"errors": only(func(w http.ResponseWriter, _ *http.Request, _ string, n int) bool {
			switch n {
			case 1:
				storetest.Refuse(w, http.StatusInternalServerError, "InternalError", "try again")
			case 2:
				w.Header().Set("Retry-After", "1000000")
				storetest.Refuse(w, http.StatusServiceUnavailable, "SlowDown", "")
			case 3:
				w.WriteHeader(http.StatusTooManyRequests)
			case 4:
				storetest.Refuse(w, http.StatusBadRequest, "RequestTimeout", "")
			}
			return n <= 4
		}),
		"cut before the body": only(func(w http.ResponseWriter, _ *http.Request, _ string, n int) bool {
			if n == 1 {
				cut(w)
			}
			return n == 1
		}),
		"cut in the body": only(func(w http.ResponseWriter, r *http.Request, _ string, n int) bool {
			if n <= 2 {
				_, _ = io.CopyN(io.Discard, r.Body, 100_000)
				cut(w)
			}
			return n <= 2
		}),
		"cut after the body": only(func(w http.ResponseWriter, r *http.Request, _ string, n int) bool {
			if n == 1 {
				_, _ = io.Copy(io.Discard, r.Body)
				cut(w)
			}
			return n == 1
		}),
		"questions fail": func(w http.ResponseWriter, r *http.Request, _ string, n int) bool {
			if r.Method == http.MethodHead && n%2 == 1 {
				w.WriteHeader(http.StatusBadGateway)
				return true
			}
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, env := start(t)
			store.Fault = f
			sent, err := open(t, "s3://runs", env).Upload(t.Context(), folder(t), "r")
			require.NoError(t, err)
			require.Equal(t, len(files), sent.Verified)
			checkObjects(t, store, "runs/r")
		})
	}
}

// TestAHangingStore ends an attempt without progress.
func TestAHangingStore(t *testing.T) {
	t.Parallel()
	store, env := start(t)
	store.Fault = only(func(_ http.ResponseWriter, r *http.Request, _ string, n int) bool {
		if n == 1 {
			_, _ = io.CopyN(io.Discard, r.Body, 1000)
			<-store.Ended
		}
		return n == 1
	})
	s := open(t, "s3://runs", env)
	s.stall = time.Second
	_, err := s.Upload(t.Context(), folder(t), "r")
	require.NoError(t, err)
	checkObjects(t, store, "runs/r")
}

// TestLastingFaults requires one attempt, an error that states the cause, no key in it, and no record.
func TestLastingFaults(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	t.Cleanup(other.Close)
	refuse := func(status int, code, message string) fault {
		return only(func(w http.ResponseWriter, _ *http.Request, _ string, _ int) bool {
			storetest.Refuse(w, status, code, message)
			return true
		})
	}
	for name, c := range map[string]struct {
		fault    fault
		want     string
		requests int // uploads of the file
	}{
		"forbidden": {refuse(403, "AccessDenied", "no right for top-secret/+, session-token== and\x1b[31m"),
			`events.jsonl.zst: the store answered 403 Forbidden: AccessDenied: no right for ***, *** and\u001b[31m`, 1},
		"no bucket":   {refuse(404, "NoSuchBucket", "none"), "404 Not Found: NoSuchBucket: none", 1},
		"no protocol": {refuse(501, "NotImplemented", ""), "501 Not Implemented: NotImplemented", 1},
		"not a store": {only(func(w http.ResponseWriter, _ *http.Request, _ string, _ int) bool {
			w.WriteHeader(http.StatusNoContent)
			return true
		}), "the store answered 204 No Content", 1},
		"redirect": {only(func(w http.ResponseWriter, r *http.Request, _ string, _ int) bool {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return true
		}), "307 Temporary Redirect; redirects are not followed", 1},
		"region": {only(func(w http.ResponseWriter, r *http.Request, _ string, _ int) bool {
			w.Header().Set("X-Amz-Bucket-Region", "us-east-2")
			http.Redirect(w, r, other.URL, http.StatusMovedPermanently)
			return true
		}), "the bucket is in the region us-east-2: set AWS_REGION", 1},
		"always 500": {refuse(500, "InternalError", "broken"),
			"6 attempts failed, the last one because the store answered 500", attempts},
		"lost": {func(w http.ResponseWriter, r *http.Request, key string, n int) bool {
			if r.Method == http.MethodHead && strings.HasSuffix(key, ".zst") {
				w.WriteHeader(http.StatusNotFound)
				return true
			}
			return false
		}, "then returned another size or SHA-256", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, env := start(t)
			store.Fault = c.fault
			dir := folder(t)
			_, err := open(t, "s3://runs", env).Upload(t.Context(), dir, "r")
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), s3Keys.Secret)
			n := 0
			for _, line := range store.Log() {
				if line == "PUT runs/r/events.jsonl.zst" {
					n++
				}
			}
			require.Equal(t, c.requests, n)
			require.NoFileExists(t, filepath.Join(dir, RecordName))
			_, found := store.Object("runs/r/" + RecordName)
			require.False(t, found)
		})
	}
}

// TestWrongKeys sends one small request, and nothing else.
func TestWrongKeys(t *testing.T) {
	store, env := start(t)
	env["AWS_SECRET_ACCESS_KEY"] = "another"
	s := open(t, "s3://runs", env)
	_, err := s.Upload(t.Context(), folder(t), "r")
	require.ErrorContains(t, err, "empty.txt: the store answered 403 Forbidden: SignatureDoesNotMatch")
	require.Equal(t, []string{"HEAD runs/r/empty.txt", "PUT runs/r/empty.txt"}, store.Log())

	failed := s.Failed(err, "out", "mlperf-go bench upload out s3://runs")
	require.EqualError(t, failed, "the results were not sent to s3://runs: "+err.Error()+
		". The results are complete in out. Send them again with `mlperf-go bench upload out s3://runs`")
	require.Equal(t, []any{exit.StatusEnvironment, exit.CodeUpload}, []any{exit.Classify(failed).Exit,
		exit.Classify(failed).Code})
}

// TestUnknownAuthority makes one attempt.
func TestUnknownAuthority(t *testing.T) {
	store, env := start(t)
	env["AWS_CA_BUNDLE"] = ""
	began := time.Now()
	d, err := Parse("s3://runs")
	require.NoError(t, err)
	s, err := Open(d, environment(env))
	require.NoError(t, err)
	_, err = s.Upload(t.Context(), folder(t), "r")
	require.ErrorContains(t, err, "certificate")
	require.NotContains(t, err.Error(), "attempts failed")
	require.Less(t, time.Since(began), time.Minute)
	require.Empty(t, store.Log())
}

// TestNothingListens names the address after the last attempt.
func TestNothingListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = open(t, "s3://runs", map[string]string{"AWS_ENDPOINT_URL": "http://" + l.Addr().String()}).
		Upload(t.Context(), folder(t), "r")
	require.ErrorContains(t, err, "6 attempts failed")
	require.ErrorContains(t, err, l.Addr().String())
}

// TestKeysThatOnlyWrite notes that nothing was verified.
func TestKeysThatOnlyWrite(t *testing.T) {
	store, env := start(t)
	store.Fault = func(w http.ResponseWriter, r *http.Request, _ string, _ int) bool {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusForbidden)
		}
		return r.Method == http.MethodHead
	}
	sent, err := open(t, "s3://runs", env).Upload(t.Context(), folder(t), "r")
	require.NoError(t, err)
	checkObjects(t, store, "runs/r")
	require.Zero(t, sent.Verified)
	require.Len(t, sent.Notes, 1)
	require.Contains(t, sent.Notes[0], "5 of 5 files were not verified")
}

// TestInterruptedUpload ends at once, and keeps the cause.
func TestInterruptedUpload(t *testing.T) {
	t.Parallel()
	store, env := start(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	store.Fault = only(func(http.ResponseWriter, *http.Request, string, int) bool {
		cancel(exit.Interrupt{Signal: syscall.SIGINT})
		<-store.Ended
		return true
	})
	s := open(t, "s3://runs", env)
	_, err := s.Upload(ctx, folder(t), "r")
	var i exit.Interrupt
	require.ErrorAs(t, err, &i)
	failed := s.Failed(err, "out", "again")
	require.Equal(t, 130, exit.Classify(failed).Exit)
	require.ErrorContains(t, failed, "Send them again with `again`")
}

// TestFoldersThatAreNotSent has what is wrong before the first request.
func TestFoldersThatAreNotSent(t *testing.T) {
	store, env := start(t)
	s := open(t, "s3://runs", env)
	huge := folder(t)
	require.NoError(t, os.Truncate(filepath.Join(huge, "bench.json"), maxFile+1))
	for dir, want := range map[string]string{huge: "bench.json has 5368709121 bytes, and files above 5 GiB are not sent",
		t.TempDir(): "no file to send", filepath.Join(huge, "absent"): "no such file"} {
		_, err := s.Upload(t.Context(), dir, "r")
		require.ErrorContains(t, err, want)
	}
	_, err := s.Upload(t.Context(), folder(t), "../other")
	require.ErrorContains(t, err, "a part that is empty, . or ..")
	require.Empty(t, store.Log())
}

// TestAFileThatShrinks fails without further attempts.
func TestAFileThatShrinks(t *testing.T) {
	t.Parallel()
	store, env := start(t)
	dir := folder(t)
	n := 0
	store.Fault = func(_ http.ResponseWriter, r *http.Request, key string, _ int) bool {
		if strings.HasSuffix(key, ".zst") && r.Method == http.MethodHead {
			require.NoError(t, os.Truncate(filepath.Join(dir, "events.jsonl.zst"), 10))
			n++
		}
		return false
	}
	_, err := open(t, "s3://runs", env).Upload(t.Context(), dir, "r")
	require.ErrorIs(t, err, errSource)
	require.Equal(t, 1, n)
	require.False(t, errors.Is(err, context.Canceled))
}
