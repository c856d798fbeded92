package run

import (
	"fmt"
	"os"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/hostinfo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// spareFiles are open files beside the connections (docs/reference/wire-protocols.md#connections).
const spareFiles = 200

// offlineSlack is what LoadGen adds to target QPS times duration for the samples of an Offline query
// (docs/reference/loadgen.md#effective-settings).
const offlineSlack = 1.1

// connections is how many the test may have open at once; 0: that depends on the server.
func (p *Plan) connections(c *backends.Config) int {
	if c.Concurrency > 0 || p.Scenario.LoadGen != models.Offline {
		return c.Concurrency
	}
	if p.Mode != models.Performance {
		return p.Config.Int("samples")
	}
	byTime := p.Config.Float("target-qps") * offlineSlack * p.Config.Duration("min-duration").Seconds()
	return max(p.Config.Int("min-queries"), int(byTime))
}

// hostLimits are the limits of a machine on connections.
type hostLimits struct {
	raiseNoFile func(want uint64) (hostinfo.NoFile, error)
	localPorts  func() (int, error)
}

// thisHost has the limits that the kernel reports.
var thisHost = hostLimits{hostinfo.RaiseNoFile, hostinfo.LocalPorts}

// reserveConnections raises the limit of open files, and rejects a test that needs more connections than the host can
// open.
func (p *Plan) reserveConnections(pre *Preflight, c *backends.Config, host hostLimits) error {
	need := p.connections(c)
	var err error
	if pre.OpenFiles, err = host.raiseNoFile(uint64(need) + spareFiles); err != nil {
		return exit.Environment("open_files", p.fewer(), "%w", err)
	}
	if pre.LocalPorts, err = host.localPorts(); err != nil {
		pre.Notes = append(pre.Notes, fmt.Sprintf("the number of local ports is not known: %v", err))
		return nil
	}
	addresses := map[string]bool{}
	for _, e := range c.Endpoints {
		if e.Socket() == "" {
			addresses[e.URL] = true
		}
	}
	if len(addresses) == 0 || need <= pre.LocalPorts*len(addresses) {
		return nil
	}
	return exit.Environment("local_ports", `Widen the range (sysctl -w net.ipv4.ip_local_port_range="1024 65535"), give more endpoints, or `+p.fewer(), "%d connections to %d addresses are needed, and this machine has %d "+
		"local ports for each (net.ipv4.ip_local_port_range)", need, len(addresses), pre.LocalPorts)
}

// CheckRoom refuses resource limits that are too low for a test: without room the runtime, or LoadGen, would end the
// process in the middle. It is asked before anything is started.
func CheckRoom(p *Plan) error {
	extra := uint64(0)
	// the set, and its requests as far as they are in memory
	if info, err := os.Stat(p.Config.String("dataset")); err == nil {
		extra = 2 * uint64(min(info.Size(), p.Config.Bytes("request-memory")))
	}
	if err := hostinfo.CheckRoom(hostinfo.NeededRoom(extra, minFreeBytes)); err != nil {
		return exit.Environment("limits", "", "%w", err)
	}
	return nil
}

// fewer says how a test takes fewer connections.
func (p *Plan) fewer() string {
	if p.Config.String("offline-strategy") == "all" {
		return "choose --offline-strategy window"
	}
	return "lower --concurrency"
}
