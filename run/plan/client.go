package plan

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Client contains the settings with which the test reaches its servers.
type Client struct {
	*Test
	// Secrets are kept out of what the run writes. Endpoints adds the endpoints' key.
	Secrets *secret.Redactor

	requests *Requests
}

// OpenDriver returns the driver of the backend and its configuration, except for the request bytes.
func (cl *Client) OpenDriver() (backends.Driver, *backends.Config, error) {
	d, err := backends.Lookup(cl.Config.String("backend"))
	if err != nil {
		return nil, nil, exit.Usage(exit.CodeBackend, "", "%w", err)
	}
	config, err := cl.Reach()
	if err != nil {
		return nil, nil, err
	}
	c := cl.Config
	config.RequestOptions = backends.RequestOptions{API: c.String("api"), ServedModel: c.String("served-model"),
		Sampling: cl.requests.Sampling(), Stream: cl.mustStream() || c.Bool("stream"),
		Traced: c.Bool("traceparent")}
	config.AnswerOptions = backends.AnswerOptions{KeepText: cl.Row.TextAnswers, NeedIDs: !cl.Row.TextAnswers,
		MinTokens: cl.Row.MinOutputTokens, Vocabulary: cl.Row.Vocabulary}
	config.Dispatch = backends.Dispatch{Concurrency: c.Int("concurrency"), Retries: c.Int("retries"),
		Balance: c.String("lb")}
	config.Deadlines = backends.Deadlines{RequestTimeout: c.Duration("request-timeout"),
		FirstTokenTimeout: c.Duration("first-token-timeout"), TokenTimeout: c.Duration("token-timeout"),
		ConnectTimeout: c.Duration("connect-timeout"), EndpointTimeout: c.Duration("endpoint-timeout")}
	config.ProbeOptions = backends.ProbeOptions{ProbeTokens: cl.probeTokens(), OmitFlag: "--no-preflight-query"}
	config.Benchmark = cl.ownModel()
	if config.Format, err = cl.requests.format(); err != nil {
		return nil, nil, err
	}
	return d, config, cl.place(config)
}

// Reach returns the part of the configuration that determines how the endpoints are reached.
func (cl *Client) Reach() (*backends.Config, error) {
	endpoints, err := cl.Endpoints()
	if err != nil {
		return nil, err
	}
	c := cl.Config
	config := &backends.Config{Endpoints: endpoints, Transport: Transport(c)}
	config.ConnectTimeout = c.Duration("connect-timeout")
	return config, CheckTransport(config)
}

// CheckTransport rejects files of certificates that cannot be used, an invalid proxy, and a proxy for endpoints on Unix
// sockets.
func CheckTransport(c *backends.Config) error {
	if _, err := backends.Authorities(c.CAFile); err != nil {
		return exit.Usage(exit.CodeCAFile, "Give the PEM file of the authority that signed the server's certificate",
			"--ca-file: %w", err)
	}
	if _, err := backends.ClientCertificates(c.ClientCert, c.ClientKey); err != nil {
		return exit.Usage(exit.CodeClientCert, "Give a certificate and its private key as PEM files",
			"--client-cert: %w", err)
	}
	if err := checkProxy(c); err != nil {
		return exit.Usage(exit.CodeProxy, "Give it as http://host:port, and no endpoint on a Unix socket with it",
			"--proxy: %w", err)
	}
	return nil
}

// Transport returns how connections to the endpoints of a configuration are made.
func Transport(c *config.Effective) backends.Transport {
	return backends.Transport{InsecureSkipVerify: c.Bool("insecure-skip-verify"), CAFile: c.String("ca-file"),
		ClientCert: c.String("client-cert"), ClientKey: c.String("client-key"), HTTP2: c.Bool("http2"),
		Proxy: c.String("proxy")}
}

// checkProxy rejects an invalid proxy, and a proxy for endpoints on Unix sockets.
func checkProxy(c *backends.Config) error {
	if proxy, err := backends.ParseProxy(c.Proxy); proxy == nil {
		return err
	}
	for _, e := range c.Endpoints {
		if e.Socket() != "" {
			return fmt.Errorf("the endpoint %s is a socket of this machine", e.URL)
		}
	}
	return nil
}

// probeTokens returns the length of the preflight's answers. SingleStream needs whole answers, whose latency it
// measures.
func (cl *Client) probeTokens() int {
	if cl.Scenario.LoadGen == models.SingleStream {
		return cl.Config.Int("max-tokens")
	}
	return 8
}

// Endpoints returns the servers of the configuration.
func (cl *Client) Endpoints() ([]backends.Endpoint, error) {
	key, err := cl.apiKey()
	if err != nil {
		return nil, err
	}
	cl.Secrets.Add(key)
	list, err := cl.parseEndpoints()
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].APIKey = key
	}
	if len(list) == 0 {
		return nil, exit.Usage(exit.CodeEndpoint, "Write --endpoint http://host:port", "no --endpoint is given")
	}
	return list, nil
}

func (cl *Client) parseEndpoints() ([]backends.Endpoint, error) {
	list, err := backends.ParseEndpoints(cl.Config.Strings("endpoint"))
	if err != nil {
		return nil, exit.Usage(exit.CodeEndpoint, "Write --endpoint http://host:port", "%w", err)
	}
	return list, nil
}

// checkEndpoints rejects malformed endpoints.
func (cl *Client) checkEndpoints() error {
	_, err := cl.parseEndpoints()
	return err
}

// checkBackend rejects an unknown backend.
func (cl *Client) checkBackend() error {
	name := cl.Config.String("backend")
	if name == config.Auto {
		return nil
	}
	if _, err := backends.Lookup(name); err != nil {
		return exit.Usage(exit.CodeBackend, "", "%w", err)
	}
	return nil
}

// largestKey bounds the file of an API key, in bytes.
const largestKey = 1 << 16

func (cl *Client) apiKey() (string, error) {
	path := cl.Config.String("api-key-file")
	if path == "" {
		return cl.Config.String("api-key"), nil
	}
	text, err := readAtMost(path, largestKey)
	if err != nil {
		return "", exit.Usage(exit.CodeAPIKey, "Give a file whose first line is the key", "the API key cannot be read: %w",
			err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line), nil
}

// OfflineSlack is the factor by which LoadGen multiplies target QPS times duration for the samples of an Offline
// query (docs/reference/loadgen.md#effective-settings).
const OfflineSlack = 1.1

// Connections returns how many connections the test may have open at once; 0: the server decides.
func (cl *Client) Connections(c *backends.Config) int {
	if c.Concurrency > 0 || cl.Scenario.LoadGen != models.Offline {
		return c.Concurrency
	}
	if cl.Mode != models.Performance {
		return cl.Config.Int("samples")
	}
	byTime := cl.Config.Float("target-qps") * OfflineSlack * cl.Config.Duration("min-duration").Seconds()
	return max(cl.Config.Int("min-queries"), int(byTime))
}

// FewerConnections returns the advice for a test that needs too many connections.
func (cl *Client) FewerConnections() string {
	if cl.Config.String("offline-strategy") == "all" {
		return "choose --offline-strategy window"
	}
	return "lower --concurrency"
}

// The values of --lb-key and the strategy that looks at it.
const (
	KeyByPrefix  = "prefix"
	KeyBySession = "session"
	BalanceHash  = "hash"
)

// mustStream reports whether LoadGen measures tokens, so that the answers are streamed even with --stream=false.
func (cl *Client) mustStream() bool { return cl.Scenario.Stream && cl.Row.UseTokenLatencies }

// checkStream notes --stream=false where tokens are measured, and records what is done instead.
func (cl *Client) checkStream() error {
	c := cl.Config
	if cl.Scenario == nil || !cl.mustStream() || !c.IsSet("stream") || c.Bool("stream") {
		return nil
	}
	cl.notices = append(cl.notices, fmt.Sprintf("--stream=false does nothing: %s of %s measures the times of tokens, "+
		"so the answers are streamed", cl.Scenario.Scenario, cl.Row.Name))
	from := c.Origin("stream")
	from.Where += "=false, which does nothing in " + string(cl.Scenario.Scenario)
	return c.Set("stream", "true", from)
}

// checkBalance notes settings that the strategy of --lb ignores.
func (cl *Client) checkBalance() error {
	c := cl.Config
	key, hash := c.String("lb-key"), c.String("lb") == BalanceHash
	switch {
	case c.IsSet("lb-key") && !hash:
		cl.notices = append(cl.notices, fmt.Sprintf("--lb-key does nothing with --lb %s: only hash has a key",
			c.String("lb")))
	case c.IsSet("lb-prefix-tokens") && (!hash || key != KeyByPrefix):
		cl.notices = append(cl.notices, "--lb-prefix-tokens does nothing without --lb hash and --lb-key prefix")
	case c.IsSet("session-column") && (!hash || key != KeyBySession):
		cl.notices = append(cl.notices, "--session-column does nothing without --lb hash and --lb-key session")
	}
	return nil
}
