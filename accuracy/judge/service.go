package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/mlperf-go/mlperf-go/accuracy"
)

// Service asks a server that runs LiveCodeBench's programs (spec/accuracy.md §9): one WebSocket connection an answer,
// which gets {"codes_dict": {question: [code]}, "timeout_sec": 60} and answers with any number of {"status":
// "progress"} and then with {"status": "completed", "result": {"results": {question: [passed]}}} or {"status":
// "error"}.
type Service struct{ address *url.URL }

// NewService makes a judge of an address such as ws://localhost:13835/evaluate.
func NewService(address string) (*Service, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, fmt.Errorf("the address %.200q of the service that runs programs is none of the form ws://host:port/path",
			address)
	}
	return &Service{u}, nil
}

// serviceAnswer is one message of the service.
type serviceAnswer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Result struct {
		Results map[string][]bool `json:"results"`
	} `json:"result"`
}

// JudgeCode asks for one program. Programs of other kinds than LiveCodeBench's stay unjudged.
func (s *Service) JudgeCode(ctx context.Context, task accuracy.CodeTask) (bool, error) {
	if task.Benchmark == accuracy.MBXP {
		return false, unjudged("the service runs LiveCodeBench's programs alone")
	}
	passed, err := s.ask(ctx, task)
	if err != nil {
		return false, fmt.Errorf("asking %s about a program for question %s: %w", s.address.Redacted(), task.Question, err)
	}
	return passed, nil
}

func (s *Service) ask(ctx context.Context, task accuracy.CodeTask) (bool, error) {
	request, err := json.Marshal(map[string]any{"codes_dict": map[string][]string{task.Question: {task.Code}},
		"timeout_sec": testSeconds})
	if err != nil {
		return false, err
	}
	c, err := dialSocket(ctx, s.address)
	if err != nil {
		return false, err
	}
	defer c.close()
	if err := c.send(opWords, request); err != nil {
		return false, err
	}
	for {
		text, err := c.receive()
		if err != nil {
			return false, err
		}
		var answer serviceAnswer
		if err := json.Unmarshal(text, &answer); err != nil {
			return false, fmt.Errorf("it answers %.100q, which is no JSON of the expected form: %w", text, err)
		}
		switch results := answer.Result.Results[task.Question]; answer.Status {
		case "progress":
		case "completed":
			if len(results) != 1 {
				return false, fmt.Errorf("it completed with %d results for one program", len(results))
			}
			return results[0], nil
		case "error":
			return false, errors.New("it says: " + answer.Error)
		default:
			return false, fmt.Errorf("its status is %.40q, and progress, completed or error is expected", answer.Status)
		}
	}
}
