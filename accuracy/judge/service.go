package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
)

// Bounds of one connection to the service.
const (
	sendTimeout      = 30 * time.Second // limit for the handshake, and for sending the program
	answerTimeout    = 20 * time.Minute // limit for each message; the reference allows 20 minutes for a whole batch
	largestAnswer    = 16 << 20         // size limit of a message in bytes
	largestErrorText = 400              // bytes of the service's error text that our error quotes
)

// Service judges programs for LiveCodeBench by asking a server (docs/reference/scoring-rules.md#running-programs). It
// opens one WebSocket connection per program, sends {"codes_dict": {question: [code]}, "timeout_sec": 60}, and reads
// any number of {"status": "progress"} up to {"status": "completed", "result": {"results": {question: [passed]}}} or
// {"status": "error"}. It is safe for concurrent use.
type Service struct {
	address *url.URL
	client  *http.Client // used for the handshake: no proxy from the environment, no redirects, verified certificates
}

// NewService returns a judge that asks the service at an address such as ws://localhost:13835/evaluate.
func NewService(address string) (*Service, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, fmt.Errorf("invalid address %.200q of the code service: expected ws://host:port/path, "+
			"or wss:// for TLS", address)
	}
	return &Service{u, httpclient.New(httpclient.Options{Timeout: sendTimeout})}, nil
}

// serviceMessage is one message of the service.
type serviceMessage struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Result struct {
		Results map[string][]bool `json:"results"`
	} `json:"result"`
}

// JudgeCode reports whether one program passes its tests. The service judges LiveCodeBench only: programs of other
// benchmarks return an *accuracy.Unjudged.
func (s *Service) JudgeCode(ctx context.Context, task accuracy.CodeTask) (bool, error) {
	if task.Benchmark == accuracy.MBXP {
		return false, unjudged("the code service runs programs of LiveCodeBench only")
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
	c, _, err := websocket.Dial(ctx, s.address.String(), &websocket.DialOptions{HTTPClient: s.client})
	if err != nil {
		return false, err
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(largestAnswer)
	if err := send(ctx, c, request); err != nil {
		return false, err
	}
	for {
		m, err := receive(ctx, c)
		if err != nil {
			return false, err
		}
		switch results := m.Result.Results[task.Question]; m.Status {
		case "progress":
		case "completed":
			if len(results) != 1 {
				return false, fmt.Errorf("the service returned %d results for one program", len(results))
			}
			return results[0], nil
		case "error":
			return false, fmt.Errorf("the service reported an error: %.*s", largestErrorText, m.Error)
		default:
			return false, fmt.Errorf("unknown status %.40q from the service: expected progress, completed or error", m.Status)
		}
	}
}

func send(ctx context.Context, c *websocket.Conn, request []byte) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return c.Write(ctx, websocket.MessageText, request)
}

// receive reads the next message.
func receive(ctx context.Context, c *websocket.Conn) (*serviceMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, text, err := c.Read(ctx)
	switch {
	case websocket.CloseStatus(err) != -1:
		return nil, fmt.Errorf("the service closed the connection before its result: %w", err)
	case errors.Is(err, websocket.ErrMessageTooBig):
		return nil, fmt.Errorf("the service sent a message of more than %d bytes", largestAnswer)
	case err != nil:
		return nil, err
	}
	m := &serviceMessage{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("the service sent %.100q, which is not JSON of the expected form: %w", text, err)
	}
	return m, nil
}
