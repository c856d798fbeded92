// Package sim is a simulated LLM inference server: a continuous-batching engine on a clock, behind vLLM's wire
// and the native routes of llama.cpp and Ollama.
//
// It owns the engine (arrival queue, sequence slots, KV budget, one serial prefill resource, decode schedule), the
// HTTP/1.1 connections, the answers and the faults. In comes a net.Listener and a Config; out go HTTP responses whose
// bytes have the shape of vLLM's, at times fixed by an absolute schedule, and counters (Stats, /metrics).
//
// Answers have the benchmark's own form (letters, boxed numbers, programs, JSON, calls, harmony sections) and are right
// for a share of the rows, so that an accuracy run's score comes out where Config.Quality says.
//
// One goroutine a connection reads requests and prepares answers; one engine thread owns the schedule and writes every
// streamed event straight to its socket. Answers depend on the seed and the prompt alone, faults on the seed and the
// request's ordinal alone.
//
// It may import datasets and models. No client package imports it: a client meets it through a socket only.
package sim
