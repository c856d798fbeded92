package run

import (
	"fmt"
	"os"

	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// spareFiles are open files beside the connections (docs/reference/wire-protocols.md#connections).
const spareFiles = 200

// hostLimits are a machine's limits on connections.
type hostLimits struct {
	raiseNoFile func(want uint64) (hostinfo.NoFile, error)
	localPorts  func() (int, error)
}

// thisHost returns the limits that the kernel reports.
var thisHost = hostLimits{hostinfo.RaiseNoFile, hostinfo.LocalPorts}

// reserveConnections raises the limit of open files, and rejects a test that needs more connections than the host can
// open.
func (b *prober) reserveConnections(pre *Preflight, host hostLimits) error {
	p, c := b.plan, b.config
	need := p.Connections(c)
	var err error
	if pre.OpenFiles, err = host.raiseNoFile(uint64(need) + spareFiles); err != nil {
		return exit.Environment(exit.CodeOpenFiles, p.FewerConnections(), "%w", err)
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
	return exit.Environment(exit.CodeLocalPorts,
		`Widen the range (sysctl -w net.ipv4.ip_local_port_range="1024 65535"), give more endpoints, or `+
			p.FewerConnections(),
		"the test needs %d connections to %d addresses, and this machine has %d local ports for each "+
			"(net.ipv4.ip_local_port_range)", need, len(addresses), pre.LocalPorts)
}

// CheckRoom rejects resource limits that are too low for a test: the Go runtime, or LoadGen, would end the process in
// the middle. Call it before starting anything.
func CheckRoom(p *Plan) error {
	c, extra := p.plan.Config, uint64(0)
	// the data set, and the part of its requests that is in memory
	if info, err := os.Stat(c.String("dataset")); err == nil {
		extra = 2 * uint64(min(info.Size(), c.Bytes("request-memory")))
	}
	if err := hostinfo.CheckRoom(hostinfo.NeededRoom(extra, minFreeBytes)); err != nil {
		return exit.Environment(exit.CodeLimits, "", "%w", err)
	}
	return nil
}
