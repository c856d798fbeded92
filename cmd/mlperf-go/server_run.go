package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/servers"
)

// endpointOf gives the values of --api the names that files of servers have.
var endpointOf = map[string]string{"completions": "completions", "chat": "chat_completions", "generate": "generate"}

// engineArguments lets arguments stand behind -- where servers are started for a test: they are the engine's.
func (p *program) engineArguments(c *cli.Context) error {
	if p.serverOrigin.Where != "" {
		return nil
	}
	return noArguments(c)
}

// readServers takes from --server-config or --model-path what the client has to know. Without an endpoint it also plans
// the servers, for startServers, and has requests sent before the test: a server that was just started is cold.
func (p *program) readServers(c *cli.Context, e *config.Effective) error {
	cfg, err := readServerConfig(e)
	if err != nil || cfg == nil {
		return err
	}
	values := map[string]string{"backend": cfg.Backend, "api": cfg.EndpointType, "served-model": cfg.Served()}
	if cfg.MaxPoolSize > 0 {
		values["concurrency"] = strconv.Itoa(cfg.MaxPoolSize)
	}
	if !e.IsSet("endpoint") {
		if p.servers, err = p.planServers(c, e, cfg); err != nil {
			return err
		}
		values["served-model"], values["api-key"], values["endpoint"] = p.servers.Served, p.servers.APIKey(),
			strings.Join(p.servers.URLs(), ",")
		values["server-dir"], values["warmup"] = p.servers.Dir, "true"
	}
	if e.IsSet("api") {
		if err := cfg.CheckEndpoint(endpointOf[e.String("api")]); err != nil {
			return serverError("server_config", err)
		}
	}
	p.serverOrigin = config.Origin{Layer: config.FromFile, Where: cfg.Name}
	for name, value := range values {
		if value == "" || e.IsSet(name) {
			continue
		}
		if err := e.Set(name, value, p.serverOrigin); err != nil {
			return serverError("server_config", err)
		}
	}
	return nil
}

// startServers starts what readServers planned; stop ends it, and says what happened to a server during the test.
func (p *program) startServers(ctx context.Context) (stop func(), err error) {
	if p.servers == nil {
		return func() {}, nil
	}
	p.notice(p.servers.Notes...)
	fleet, err := servers.Start(ctx, p.servers, func(text string) { p.notice(text) })
	if err != nil {
		return nil, serverError("server_start", err)
	}
	p.fleet = fleet
	return func() {
		for _, r := range fleet.State().Replicas {
			if r.Unhealthy > 0 {
				p.log.Warn(fmt.Sprintf("replica %d (%s) stopped to answer %d times during the test", r.Index, r.URL, r.Unhealthy))
			}
		}
		for err := fleet.Err(); err != nil; err = fleet.Err() {
			p.log.Error("during the test " + err.Error())
		}
		if err := fleet.Stop(); err != nil {
			p.log.Error(err.Error())
			p.exit = max(p.exit, run.ExitEnvironment)
		}
	}, nil
}

// profilers are those of the servers that will be started.
func (p *program) profilers() []string {
	if p == nil || p.servers == nil {
		return nil
	}
	return p.servers.Profilers
}
