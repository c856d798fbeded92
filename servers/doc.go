// Package servers starts, watches and stops inference servers on this machine: vLLM, SGLang, or any command.
//
// It owns the YAML file of a server (Load), the plan of replicas, GPUs, ports and cache folders that follows from it
// (NewPlan), the processes of the replicas from start to proven end (Start, Fleet), and the state file by which another
// process sees them (ReadState) or ends them (Down).
//
// In: a YAML file, arguments for the engine, the environment, the GPUs of the machine. Out: command lines, child
// processes with their logs, base URLs that serve the model. Each replica leads a session and process group of its own,
// is killed by the kernel when the thread of the supervisor dies, and has a guard that kills its group when the
// supervisor is gone without a word.
//
// Linux only. It imports internal/config, internal/hostinfo, internal/atomicfile and internal/crash; it reads no
// environment and prints nothing.
package servers
