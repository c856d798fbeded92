package catalog

import "github.com/mlperf-go/mlperf-go/workload/profile"

// Goal is the kind of latency that users of a use case notice.
type Goal string

// The goals.
const (
	PerToken   Goal = "per token" // TTFT and TPOT
	PerRequest Goal = "request"   // the whole answer
)

// UseCase is a row of the table of use cases. ISL and OSL are lengths of input and output: short below 256 tokens,
// medium up to 2048, long above. ISV and OSV are their spread: a coefficient of variation of at most 0.1 is low, at
// most 0.5 medium, more high. OSP is a column of llm-d-benchmark's table, which does not define it.
type UseCase struct {
	ID       string `json:"id"`
	Workload string `json:"workload"`
	Example  string `json:"example,omitempty"`
	ISL      string `json:"isl"`
	ISV      string `json:"isv,omitempty"`
	OSL      string `json:"osl"`
	OSV      string `json:"osv"`
	OSP      string `json:"osp"`
	Goal     Goal   `json:"goal"`
}

// UseCases returns the table.
func UseCases() []UseCase {
	return []UseCase{
		{"interactive-chat", "interactive chat", "chat agent", "medium", "high", "medium", "medium", "medium", PerToken},
		{"text-classification", "classification of text", "sentiment analysis", "medium", "", "short", "low", "high",
			PerRequest},
		{"image-classification", "classification of images", "nudity filter", "long", "low", "short", "low", "high",
			PerRequest},
		{"summarization", "summarization, information retrieval", "questions about documents, RAG", "long", "high", "short",
			"medium", "medium", PerToken},
		{"text-generation", "text generation", "", "short", "high", "long", "medium", "low", PerToken},
		{"translation", "translation", "", "medium", "high", "medium", "medium", "high", PerToken},
		{"code-completion", "code completion", "type-ahead", "long", "high", "short", "medium", "medium", PerRequest},
		{"code-generation", "code generation", "adding a feature", "long", "high", "medium", "high", "medium", PerRequest},
	}
}

// Metrics returns the names of the limits that matter for a goal.
func (g Goal) Metrics() []string {
	if g == PerToken {
		return []string{"ttft", "tpot"}
	}
	return []string{"e2e"}
}

// Limits reports whether limits contain one for a goal.
func (g Goal) Limits(s profile.SLO) bool {
	if g == PerToken {
		return s.TTFT > 0 && s.TPOT > 0
	}
	return s.E2E > 0
}
