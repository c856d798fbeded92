// Package servers starts, watches and stops inference servers on this machine: vLLM, SGLang, or any other command.
//
// Load reads the YAML file of a server. NewPlan turns it into a Plan: replicas with their command lines, GPUs, ports
// and cache folders. Start runs the plan as a Fleet and returns when every replica serves the model. The Fleet keeps a
// state file, with which another process can inspect the servers (ReadState) or stop them (Down).
//
//	c, err := servers.Load("server.yaml")
//	p, err := servers.NewPlan(c, servers.Options{GPUs: gpus, GPUsPerReplica: -1, Environ: os.Environ()})
//	fleet, err := servers.Start(ctx, p, func(line string) { log.Print(line) })
//	defer fleet.Stop()
//
// Each replica leads its own session and process group. The kernel kills it when the supervisor's thread dies, and a
// guard process kills its group if the supervisor disappears.
//
// The package runs on Linux only, reads no environment and prints nothing. It must not import run, backends or cmd.
package servers
