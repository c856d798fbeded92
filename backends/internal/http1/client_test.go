package http1_test

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/backends/openai"
)

func TestMain(m *testing.M) {
	wiretest.RunCanned()
	runBenchClient()
	log.SetOutput(io.Discard) // net/http, the reference here, logs what it finds odd
	goleak.VerifyTestMain(m)
}

func protocol(c *backends.Config) (wire.Protocol, error) {
	d, err := backends.Lookup("vllm")
	if err != nil {
		return wire.Protocol{}, err
	}
	return d.(*openai.Driver).Protocol(c)
}

func open(c *backends.Config) (backends.Backend, error) {
	p, err := protocol(c)
	if err != nil {
		return nil, err
	}
	return http1.New(c, p)
}

var contract = wiretest.Contract{Open: open}

// secured runs the tests of the contract over TLS.
var secured = wiretest.Contract{Open: open, Secure: true}

func TestContract(t *testing.T) { contract.Run(t) }

func TestContractOverTLS(t *testing.T) { secured.Run(t) }

// TestUnsent: a request that the socket took whole, and that the server did not.
func TestUnsent(t *testing.T) { contract.Unsent(t, 1<<20) }

func TestUnsentOverTLS(t *testing.T) { secured.Unsent(t, 1<<20) }
