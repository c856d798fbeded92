package dialect

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// fmperfFile is a workload of fmperf's LMBenchmark (fmperf-project/fmperf, examples of its LMBenchmark driver).
type fmperfFile struct {
	Model     string  `yaml:"model_name"`
	Image     string  `yaml:"image"`
	Account   string  `yaml:"service_account"`
	PVC       string  `yaml:"pvc_name"`
	Scenarios string  `yaml:"scenarios" one:"all sharegpt long-input short-input long-long"`
	QPS       string  `yaml:"qps_values" need:"yes"`
	Warmup    int     `yaml:"num_users_warmup" is:">=0"`
	Users     *int    `yaml:"num_users" is:">=1"`
	Rounds    *int    `yaml:"num_rounds" is:">=1"`
	System    *int    `yaml:"system_prompt" is:">=0"`
	History   *int    `yaml:"chat_history" is:">=0"`
	Answer    *int    `yaml:"answer_len" is:">=1"`
	FirstUser int     `yaml:"init_user_id"`
	Duration  float64 `yaml:"test_duration" is:"0..1e7"`
	Chat      bool    `yaml:"use_chat_completions"`
}

func (f *fmperfFile) translate(t *translation) {
	t.API = profile.API{Kind: map[bool]string{true: "chat", false: "completions"}[f.Chat], Stream: true, Model: f.Model}
	duration := cmp.Or(f.Duration, 30)
	for i, word := range strings.Fields(strings.ReplaceAll(f.QPS, ",", " ")) {
		qps, err := strconv.ParseFloat(word, 64)
		if err != nil || !(qps > 0 && qps < 1e9) {
			t.fail("qps_values", "expected rates separated by spaces, not %.60q", f.QPS)
			return
		}
		if i == 0 && f.Warmup > 0 {
			t.Load.Stages = append(t.Load.Stages, profile.Stage{Name: "warm-up", Arrival: profile.Closed,
				Concurrency: f.Warmup, Requests: f.Warmup, Warmup: true})
		}
		t.Load.Stages = append(t.Load.Stages,
			profile.Stage{Arrival: profile.Constant, Rate: qps, Duration: seconds(duration)})
	}
	system, history, tokens := 256, 1024, 32
	if f.Scenarios == "short-input" { // LMBenchmark's own lengths for it (its synthetic-multi-round-qa/README.md)
		system, history, tokens = 0, 256, 20
	}
	answer := fixed(f.Answer, tokens)
	if f.Scenarios == "all" {
		t.notes.add("scenarios: all: only the synthetic conversations are sent; make a profile with scenarios: sharegpt " +
			"for the others")
	}
	if f.Scenarios == "sharegpt" {
		t.Data = profile.Data{Kind: profile.ShareGPT, Output: answer}
		t.path("data.path", shareGPTFile)
		return
	}
	t.Data = profile.Data{Kind: profile.Conversations, Input: profile.FixedAt(question), Output: answer,
		Turns: &profile.Turns{
			Conversations: or(f.Users, 1), Fresh: true, Count: fixed(f.Rounds, 1), SharedSystem: or(f.System, system),
			System: fixed(f.History, history),
		}}
	if or(f.History, history) == 0 {
		t.Data.Turns.System = nil
	}
	t.notes.add("num_users: questions have %d tokens, and users ask in turn at the total rate", question)
}

// question is the length of a question of LMBenchmark's users in tokens, which their file does not contain.
const question = 32

// nopFile is a profile of the nop harness, which sends nothing.
type nopFile struct {
	Model   string `yaml:"model_name"`
	PVC     string `yaml:"pvc_name"`
	Image   string `yaml:"image"`
	Account string `yaml:"service_account"`
}

func (f *nopFile) translate(t *translation) {
	t.API.Model = f.Model
	t.Data.Kind = profile.None
}
