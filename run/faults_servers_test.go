package run

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// fleet is several servers that count their requests.
func fleet(t *testing.T, n int, reply func(server int, x *call)) []string {
	t.Helper()
	urls := make([]string, n)
	for i := range urls {
		urls[i] = serveFaults(t, func(x *call) { reply(i, x) }).url
	}
	return urls
}

// secondDies is the reply of a fleet whose second server dies at its first struck sample.
func secondDies(server int, x *call) {
	if server == 1 {
		x.hangUp = true
		x.server.close()
		return
	}
	x.good()
}

// failedBy requires that the run is INVALID with exit 1 for failed samples, that all of them failed for one of these
// reasons, and that each is in failures.jsonl.
func (r *ran) failedBy(t *testing.T, reasons ...ledger.Reason) {
	t.Helper()
	require.Equal(t, record.Invalid, r.Verdict)
	require.Equal(t, ExitInvalid, r.Exit)
	require.True(t, r.Has(record.CodeFailedSamples), r.Reasons)
	sum := int64(0)
	for _, reason := range reasons {
		sum += r.Samples.FailedByReason[reason]
	}
	require.Positive(t, sum, r.Samples.FailedByReason)
	require.Equal(t, r.Samples.Failed, sum, "only %v: %v", reasons, r.Samples.FailedByReason)
	failures, err := os.ReadFile(filepath.Join(r.Folder, record.FailuresName))
	require.NoError(t, err)
	for _, reason := range reasons {
		if r.Samples.FailedByReason[reason] > 0 {
			require.Contains(t, string(failures), `"`+string(reason)+`"`)
		}
	}
}

// A server answers each request twice with good answers, and the client cannot tell which of them belongs to the
// request.
func TestFaultAnsweredTwice(t *testing.T) {
	program(t)
	t.Parallel()
	server := serveFaults(t, func(x *call) {
		body := x.whole()
		answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body),
			body)
		x.raw(answer + answer)
	})
	r := faultRun(t, "offline", []string{server.url})
	r.holdsTogether(t, requestsOf(t, r))
	require.Equal(t, ExitInvalid, r.Exit)
	require.Equal(t, record.Invalid, r.Verdict)
	require.Equal(t, record.CodeUnaskedAnswers, r.Reasons[0].Code, r.Reasons)
	require.Positive(t, r.Client.Loops[0].Unasked)
	require.Zero(t, r.Samples.Failed, "they were all answered")
}

// A server accepts no connection after its first answer: three queries in a row are refused, and the others find no
// endpoint.
func TestFaultRefused(t *testing.T) {
	program(t)
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/completions" {
			_, _ = io.WriteString(w, facts[r.URL.Path]) // empty for routes without facts
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = l.Close() // before the bytes that let the client continue
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, (&call{server: &faultServer{}, prompt: []int32{1, 2, 3}}).whole())
	}))
	require.NoError(t, server.Listener.Close())
	server.Listener = l
	server.Start()
	defer server.Close()
	r := faultRun(t, "offline", []string{server.URL}, "--concurrency", "1", "--endpoint-timeout", "1s")
	r.holdsTogether(t, requestsOf(t, r))
	r.failedBy(t, "connect", "no_endpoint")
	require.Equal(t, map[ledger.Reason]int64{"connect": 3, "no_endpoint": 28}, r.Samples.FailedByReason)
	require.EqualValues(t, 1, r.Endpoints[0].Excluded)
}

// A server is busy for a second, and refuses earlier repeats with an error that is not repeated. The client repeats
// only after Retry-After, so the run is VALID.
func TestFaultRetryAfterIsKept(t *testing.T) {
	program(t)
	t.Parallel()
	var mu sync.Mutex
	var busyUntil time.Time
	refused := int64(0)
	server := serveFaults(t, func(x *call) {
		mu.Lock()
		defer mu.Unlock()
		if busyUntil.IsZero() {
			busyUntil = time.Now().Add(time.Second)
		}
		if time.Now().Before(busyUntil) {
			refused++
			refuse("429 Too Many Requests", "Retry-After: 1")(x)
			return
		}
		x.good()
	})
	r := faultRun(t, "calm", []string{server.url}, "--retries", "1")
	log := requestsOf(t, r)
	r.holdsTogether(t, log)
	r.isValid(t)
	for _, e := range log.Entries {
		if e.Retries > 0 {
			require.Greater(t, e.FirstTokenNS-e.IssuedNS, int64(time.Second), "the wait is part of the latency")
			require.Greater(t, e.FirstTokenNS-e.SentNS, int64(time.Second), "the wait is no delay of the client")
		}
	}
	mu.Lock()
	defer mu.Unlock()
	require.Positive(t, refused)
	require.Equal(t, refused, r.Samples.Retried)
	require.Equal(t, refused, r.Endpoints[0].Retried)
}

// One of four servers dies at its first struck sample. Its samples fail, no sample is lost or doubled, and the others
// continue.
func TestFaultOneEndpointOfFourDies(t *testing.T) {
	program(t)
	t.Parallel()
	urls := fleet(t, 4, secondDies)
	r := faultRun(t, "", urls, "--retries", "0", "--lb", "round-robin")
	log := requestsOf(t, r)
	r.holdsTogether(t, log)
	r.failedBy(t, "reset", "connect")
	require.Less(t, r.Samples.Failed, r.Samples.Issued/2, "the others go on")
	for i := range log.Entries {
		if e := &log.Entries[i]; !e.Succeeded() {
			require.EqualValues(t, 1, e.Endpoint)
		}
	}
	require.Len(t, r.Endpoints, 4)
	require.Equal(t, r.Samples.Failed, r.Endpoints[1].Failed)
}

// With retries, samples of a dead server that had received no byte go to the others, and the record counts them.
func TestFaultOneEndpointOfFourDiesAndOthersTakeOver(t *testing.T) {
	program(t)
	t.Parallel()
	urls := fleet(t, 4, secondDies)
	r := faultRun(t, "calm", urls, "--retries", "8", "--lb", "round-robin")
	r.holdsTogether(t, requestsOf(t, r))
	r.isValid(t)
	require.Positive(t, r.Samples.Retried)
}

func TestFaultAllEndpointsDie(t *testing.T) {
	program(t)
	t.Parallel()
	urls := fleet(t, 2, func(_ int, x *call) { x.hangUp = true; x.server.close() })
	r := faultRun(t, "", urls, "--request-timeout", "20s", "--endpoint-timeout", "1s")
	r.holdsTogether(t, requestsOf(t, r))
	// On a busy machine every sample may be in flight before the first server is gone: then all are reset.
	r.failedBy(t, "connect", "no_endpoint", "reset")
}

// away makes a server that dies at its first struck sample and listens again on the same port after a while.
func away(t *testing.T, gap time.Duration) (url string) {
	t.Helper()
	first, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url = "http://" + first.Addr().String()
	var once sync.Once
	gone := make(chan struct{})
	back := make(chan struct{})
	serveFaultsOn(t, first, url, func(x *call) {
		x.hangUp = true
		once.Do(func() { x.server.close(); close(gone) })
	})
	go func() {
		defer close(back)
		select {
		case <-gone:
		case <-time.After(time.Minute):
			return
		}
		time.Sleep(gap)
		second, err := net.Listen("tcp", first.Addr().String())
		if err != nil {
			return // the run then shows that the server did not return
		}
		serveFaultsOn(t, second, url, (*call).good)
	}()
	t.Cleanup(func() {
		once.Do(func() { close(gone) })
		<-back
	})
	return url
}

// A server restarts within the run: samples fail in the meantime, later ones are answered, and the run is INVALID.
func TestFaultServerReturns(t *testing.T) {
	program(t)
	for _, gap := range []time.Duration{time.Second, 5 * time.Second} {
		t.Run(gap.String(), func(t *testing.T) {
			t.Parallel()
			r := start(t, "--served-model", "m", "--dataset", faultSet(t, "", 16), "--endpoint", away(t, gap), "--min-queries",
				"150", "--min-duration", "0",
				"--max-tokens", "4", "--no-preflight-query", "--model", "generic", "--scenario", "Server", "--target-qps", "15",
				"--backend", "vllm")
			r.failedBy(t, "reset", "connect")
			require.Equal(t, r.Samples.Issued, r.Samples.Completed)
			log := requestsOf(t, r)
			require.Len(t, log.Entries, int(r.Samples.Issued))
			last := lastFailed(log)
			require.GreaterOrEqual(t, last, 0, "nobody met the gap")
			require.Less(t, last, len(log.Entries)-1, "nobody was answered after it")
			require.True(t, log.Entries[len(log.Entries)-1].Succeeded(), "the server was back, and was asked again")
		})
	}
}

func lastFailed(log *ledger.Test) int {
	last := -1
	for i := range log.Entries {
		if !log.Entries[i].Succeeded() {
			last = i
		}
	}
	return last
}

// certificate is a key and a certificate that signs itself, for the loopback address.
func certificate(t *testing.T) (tls.Certificate, []byte) {
	return certificateUntil(t, time.Now().Add(time.Hour))
}

// certificateUntil is certificate with the time when it expires.
func certificateUntil(t *testing.T, end time.Time) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	x := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: end.Add(-2 * time.Hour),
		NotAfter:    end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, x, x, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// A server returns with a certificate that the client does not trust or that has expired, as after a faulty deployment.
func TestFaultTLS(t *testing.T) {
	program(t)
	trusted, authority := certificate(t)
	for name, end := range map[string]time.Time{"untrusted": time.Now().Add(time.Hour),
		"expired": time.Now().Add(-time.Minute)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other, itself := certificateUntil(t, end)
			known := authority
			if name == "expired" {
				known = slices.Concat(authority, itself)
			}
			file := filepath.Join(t.TempDir(), "ca.pem")
			require.NoError(t, os.WriteFile(file, known, 0o644))
			r := faultRun(t, "", []string{changesCertificate(t, trusted, other)}, "--ca-file", file)
			r.holdsTogether(t, requestsOf(t, r))
			probed, err := os.ReadFile(filepath.Join(r.Folder, record.PreflightName))
			require.NoError(t, err)
			require.Contains(t, string(probed), `"client": "epoll"`)
			r.failedBy(t, "tls", "reset") // the second reason is that of the connection that brought the change
			require.Positive(t, r.Samples.FailedByReason["tls"], r.Samples.FailedByReason)
			failures, err := os.ReadFile(filepath.Join(r.Folder, record.FailuresName))
			require.NoError(t, err)
			require.Equal(t, name == "expired", strings.Contains(string(failures), "has expired"), string(failures))
		})
	}
}

// changesCertificate starts a server that shows another certificate from its first struck sample on.
func changesCertificate(t *testing.T, before, after tls.Certificate) (url string) {
	var changed atomic.Bool
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	// A restarted server has new keys for its tickets, so that no session is resumed.
	first, second := &tls.Config{Certificates: []tls.Certificate{before}},
		&tls.Config{Certificates: []tls.Certificate{after}}
	second.SetSessionTicketKeys([][32]byte{{1}})
	secure := tls.NewListener(l, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if changed.Load() {
			return second, nil
		}
		return first, nil
	}})
	return serveFaultsOn(t, secure, "https://"+l.Addr().String(), func(x *call) {
		changed.Store(true)
		x.hangUp = true
	}).url
}

// A server requires a client certificate. With it the run is VALID, preflight included, and no file of the run contains
// a part of the private key. Without it the run ends before the test.
func TestClientCertificate(t *testing.T) {
	program(t)
	t.Parallel()
	folder := t.TempDir()
	pair, authority := certificate(t)
	cert, both := filepath.Join(folder, "client.pem"), filepath.Join(folder, "both.pem")
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	require.NoError(t, os.WriteFile(cert, authority, 0o600))
	require.NoError(t, os.WriteFile(both, slices.Concat(authority, key), 0o600))
	clients := x509.NewCertPool()
	require.True(t, clients.AppendCertsFromPEM(authority))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := serveFaultsOn(t, tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients,
		ClientAuth: tls.RequireAndVerifyClientCert}), "https://"+l.Addr().String(), (*call).good)
	r := askedRun(t, "calm", []string{s.url}, "--ca-file", cert, "--client-cert", both)
	r.holdsTogether(t, requestsOf(t, r))
	r.isValid(t)
	line := strings.Split(string(key), "\n")[1]
	require.NoError(t, filepath.WalkDir(r.Folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), line, path)
		return err
	}))
	without := exec.Command(program(t), "run", "--served-model", "m", "--dataset", faultSet(t, "", 16), "--endpoint",
		s.url, "--model", "generic", "--scenario", "Offline", "--backend", "vllm", "--ca-file", cert)
	without.Dir = t.TempDir()
	text, err := without.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, ExitEnvironment, without.ProcessState.ExitCode(), string(text))
	require.Contains(t, string(text), "tls: certificate required")
	require.Contains(t, string(text), "--client-cert")
}

// In accuracy mode LoadGen's log contains every token of good samples, and nothing of struck ones, even if a part of
// the answer had come.
func TestFaultsLeaveNothingInTheAccuracyLog(t *testing.T) {
	program(t)
	for _, name := range []string{"half-closed in the middle", "error event in the middle", "an id out of range"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := faultRows[slices.IndexFunc(faultRows, func(r faultRow) bool { return r.name == name })]
			args := append(row.args, "--mode", "accuracy", "--no-score")
			r := faultRun(t, row.kind, []string{serveFaults(t, row.reply).url}, args...)
			require.Equal(t, ExitInvalid, r.Exit)
			seen := map[int64]bool{}
			_, err := mllog.ReadAccuracyFile(filepath.Join(r.Folder, record.LogFolder, "mlperf_log_accuracy.json"),
				func(e *mllog.AccuracyEntry) error {
					require.False(t, seen[e.QSLIdx], "a sample stands twice in the log")
					seen[e.QSLIdx] = true
					if (100+e.QSLIdx)%faultEvery == 0 {
						require.Empty(t, e.Data, "a struck sample")
					} else {
						require.Len(t, e.Data, 4*goodTokens)
					}
					return nil
				})
			require.NoError(t, err)
			require.Len(t, seen, 16)
		})
	}
}

// A server shortens prompts and reports it in its usage: every answer is good, but the run is INVALID.
func TestServerThatCutsPrompts(t *testing.T) {
	program(t)
	server := serveFaults(t, func(x *call) {
		x.raw(streamHead, strings.Join(x.events(), ""), data(usageOf(len(x.prompt)-1, goodTokens)), data("[DONE]"), lastChunk)
	})
	r := faultRun(t, "", []string{server.url})
	struck := int64(0)
	for _, e := range requestsOf(t, r).Entries {
		if (100+e.Index)%faultEvery == 0 {
			struck++
		}
	}
	require.Positive(t, struck)
	require.Zero(t, r.Samples.Failed, r.Samples.FailedByReason)
	require.Equal(t, record.Invalid, r.Verdict)
	require.Equal(t, ExitInvalid, r.Exit)
	i := slices.IndexFunc(r.Reasons, func(c record.Cause) bool { return c.Code == record.CodeTokenMismatch })
	require.GreaterOrEqual(t, i, 0, r.Reasons)
	require.EqualValues(t, struck, r.Reasons[i].Value)
}
