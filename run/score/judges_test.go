package score

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/accuracy/judge"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/sandbox"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

func settings(texts map[string]string) func(string) string {
	return func(name string) string { return texts[name] }
}

func TestJudgesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		settings map[string]string
		code     exit.Code
		want     string
	}{
		"service and sandbox": {map[string]string{"run-code": "true", "code-service": "ws://a:1"}, "code_service",
			"--code-service and --run-code are both given"},
		"a service without an address": {map[string]string{"code-service": "a:1"}, "code_service",
			"invalid address"},
		"tests that nothing runs": {map[string]string{"code-tests": "t.jsonl"}, "code_tests",
			"--code-tests is given without --run-code"},
		"a grader that does not exist": {map[string]string{"math-grader": "no-such-program"}, "math_grader",
			`program "no-such-program" not found`},
	} {
		in := &accuracy.Input{Benchmark: "mixtral-8x7b"}
		_, err := OpenJudges(t.Context(), os.Environ(), settings(c.settings), in)
		require.ErrorContains(t, err, c.want, name)
		known := exit.Classify(err)
		require.Equal(t, c.code, known.Code, name)
		require.Contains(t, []int{exit.StatusUsage, exit.StatusEnvironment}, known.Exit)
		require.Nil(t, in.Code)
		require.Nil(t, in.Math)
	}
}

func TestNoJudge(t *testing.T) {
	in := &accuracy.Input{Benchmark: model}
	j, err := OpenJudges(t.Context(), nil, noJudge, in)
	require.NoError(t, err)
	require.Empty(t, j.Notes)
	require.Empty(t, j.Missing())
	require.NoError(t, j.Close())
	require.NoError(t, (*Judges)(nil).Close())
	require.Nil(t, in.Code)
	require.Nil(t, in.Math)
}

func TestACodeServiceJudges(t *testing.T) {
	in := &accuracy.Input{Benchmark: "gpt-oss-120b"}
	j, err := OpenJudges(t.Context(), nil, settings(map[string]string{"code-service": "ws://127.0.0.1:1/x"}), in)
	require.NoError(t, err)
	require.IsType(t, &judge.Service{}, in.Code)
	require.Equal(t, []string{"programs were run by the service ws://127.0.0.1:1/x"}, j.Notes)
}

// The sandbox looks for the languages of the benchmark's programs: all of MBXP's for mixtral, otherwise only Python.
func TestTheSandboxJudges(t *testing.T) {
	if err := sandbox.Available(t.Context()); err != nil {
		t.Skip(err)
	}
	languages := map[string]int{}
	for _, name := range []string{"mixtral-8x7b", "gpt-oss-120b"} {
		in := &accuracy.Input{Benchmark: name}
		j, err := OpenJudges(t.Context(), os.Environ(), settings(map[string]string{"run-code": "true"}), in)
		require.NoError(t, err)
		require.NotNil(t, in.Code)
		require.Len(t, j.Notes, 1)
		require.Contains(t, j.Notes[0], "programs were run in the sandbox; ")
		languages[name] = strings.Count(j.Notes[0], "; ")
		require.LessOrEqual(t, len(j.Missing()), languages[name])
		require.NoError(t, j.Close())
	}
	require.Equal(t, 1, languages["gpt-oss-120b"])
	require.Greater(t, languages["mixtral-8x7b"], 1)

	run := settings(map[string]string{"run-code": "true", "code-tests": "no-such.jsonl"})
	_, err := OpenJudges(t.Context(), os.Environ(), run, &accuracy.Input{Benchmark: "gpt-oss-120b"})
	require.ErrorContains(t, err, "no-such.jsonl")
	require.Equal(t, exit.Code("code_tests"), exit.Classify(err).Code)
	_, err = OpenJudges(t.Context(), os.Environ(), run, &accuracy.Input{Benchmark: "generic"})
	require.ErrorContains(t, err, "has no scorer")

	// Without a PATH no program can judge, and the error lists what each language lacks.
	j, err := OpenJudges(t.Context(), []string{"PATH="}, settings(map[string]string{"run-code": "true"}),
		&accuracy.Input{Benchmark: "mixtral-8x7b"})
	require.NoError(t, err)
	require.Len(t, j.Missing(), languages["mixtral-8x7b"])
}

func TestUnavailable(t *testing.T) {
	require.True(t, isUnavailable(errors.Join(errors.New("a"), &sandbox.Unavailable{})))
	require.False(t, isUnavailable(errors.New("a")))
	require.False(t, isUnavailable(nil))
}

// A rehearsal's log is scored like the rehearsal itself, but settings of the user take precedence.
func TestRunCodeByDefaultInRehearsals(t *testing.T) {
	set := func(names ...string) func(string) bool {
		return func(name string) bool { return strings.Contains(strings.Join(names, " "), name) }
	}
	rehearsal := &record.Record{Rehearsal: true}
	for name, c := range map[string]struct {
		log     Log
		isSet   func(string) bool
		service string
		want    string
	}{
		"a rehearsal with programs":    {Log{Record: rehearsal, Row: rowOf(t, "mixtral-8x7b")}, set(), "", "true"},
		"a rehearsal without programs": {Log{Record: rehearsal, Row: rowOf(t, model)}, set(), "", "false"},
		"the user's choice":            {Log{Record: rehearsal, Row: rowOf(t, "mixtral-8x7b")}, set("run-code"), "", "given"},
		"a service":                    {Log{Record: rehearsal, Row: rowOf(t, "mixtral-8x7b")}, set(), "ws://a:1", "given"},
		"no rehearsal":                 {Log{Record: &record.Record{}, Row: rowOf(t, "mixtral-8x7b")}, set(), "", "given"},
		"no record":                    {Log{Row: rowOf(t, "mixtral-8x7b")}, set(), "", "given"},
	} {
		setting := c.log.judgeSetting(Options{IsSet: c.isSet, Setting: func(name string) string {
			return map[string]string{"run-code": "given", "code-service": c.service, "math-grader": "g"}[name]
		}})
		require.Equal(t, c.want, setting("run-code"), name)
		require.Equal(t, "g", setting("math-grader"), name)
	}
}

func planned(t *testing.T, more ...string) *plan.Plan {
	t.Helper()
	s := plan.Settings{"model": model, "mode": "accuracy"}
	for i := 0; i < len(more); i += 2 {
		s[more[i]] = more[i+1]
	}
	p, err := plan.New(s)
	require.NoError(t, err)
	return p
}

func TestWhichTestsScoreThemselves(t *testing.T) {
	require.Nil(t, Plan(planned(t, "mode", "performance"), nil, nil))
	require.Nil(t, Plan(planned(t, "score", "false"), nil, nil))
	done := 0
	s := Plan(planned(t, "code-service", "ws://a:1"), nil, func(n, _ int) { done = n })
	require.NotNil(t, s)
	s.Progress(3, 4)
	require.Equal(t, 3, done)
	in := &accuracy.Input{Benchmark: model}
	judges, err := s.Judges(t.Context(), in)
	require.NoError(t, err)
	require.NotNil(t, in.Code)
	require.Len(t, judges.Notes, 1)
	require.NoError(t, judges.Close())
	_, err = Plan(planned(t, "code-tests", "x"), nil, nil).Judges(t.Context(), in)
	require.ErrorContains(t, err, "--code-tests is given without --run-code")
	set, answers := synthetic(t, rowOf(t, model), samples, 1)
	ds, err := datasets.Open(set, datasets.ForRow(rowOf(t, model)))
	require.NoError(t, err)
	tokens, source, err := s.Tokens(t.Context(), ds)
	require.NoError(t, err)
	require.Equal(t, "the synthetic vocabulary", source.Place)
	ids := datasets.SynthTokensOf(rowOf(t, model)).Encode(answers[0])
	text, err := tokens.Decode(t.Context(), ids, true)
	require.NoError(t, err)
	require.Equal(t, answers[0], text)
}

// A tokenizer that the user named is also used for a synthetic set.
func TestANamedTokenizerDecodes(t *testing.T) {
	set, _ := synthetic(t, rowOf(t, model), samples, 1)
	ds, err := datasets.Open(set, datasets.ForRow(rowOf(t, model)))
	require.NoError(t, err)
	p := planned(t)
	o := TokenizerOf(p, nil)
	o.Name = "no/such.json"
	_, _, err = Decoder(t.Context(), o, p.Row, ds)
	require.ErrorContains(t, err, "cannot decode the answers' token ids")
}

func TestWhereTheTokenizerOfATestIsLookedFor(t *testing.T) {
	p := planned(t, "endpoint", "http://a:1,http://b:2", "served-model", "m", "api-key", "k", "proxy", "http://p:3",
		"insecure-skip-verify", "true", "fetch-tokenizer", "true", "tokenizer-revision", "main2")
	o := TokenizerOf(p, []string{"HF_HOME=/cache", "HF_TOKEN=t"})
	require.Equal(t, p.Row.ServedModels, o.Models)
	require.Equal(t, "main2", o.Revision)
	require.True(t, o.Fetch)
	require.Equal(t, "/cache/hub", o.Cache)
	require.Equal(t, "p:3", o.Web.Proxy.Host)
	require.True(t, o.Web.InsecureSkipVerify)
	require.NotNil(t, o.Server)
	require.Equal(t, "http://a:1", o.Server.URL)
	require.Equal(t, "m", o.Server.Model)
	require.Equal(t, "k", string(o.Server.Key))

	file := filepath.Join(t.TempDir(), "tokenizer.json")
	write(t, file, "{}")
	named := TokenizerOf(planned(t, "endpoint", "http://a:1", "tokenizer", file), nil)
	require.Equal(t, file, named.Name)
	require.Nil(t, named.Server, "the tokenizer that the user named, and no other")
	require.Nil(t, TokenizerOf(planned(t), nil).Server)
}

// The TLS files apply to the server that tokenizes, too.
func TestCertificatesOfATokenizersServer(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "both.pem")
	write(t, path, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))+
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	o := TokenizerOf(planned(t, "client-cert", path, "ca-file", path), nil)
	require.Len(t, o.Web.Certificates, 1)
	require.NotNil(t, o.Web.Authorities)
	none := TokenizerOf(planned(t), nil)
	require.Empty(t, none.Web.Certificates)
	require.Nil(t, none.Web.Authorities)
	require.Nil(t, none.Web.Proxy)
}
