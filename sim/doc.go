// Package sim is a simulated LLM inference server: a continuous-batching engine on a clock, behind the routes of vLLM,
// SGLang, llama.cpp or Ollama (Config.Dialect).
//
// It owns the engine (arrival queue, sequence slots, KV budget, one serial prefill resource, decode schedule), the
// HTTP/1.1 connections, the answers and the faults. In comes a net.Listener and a Config; out go HTTP responses whose
// bytes have the shape of the real server's, at times fixed by an absolute schedule, and counters (Stats, /metrics).
//
// Answers have the form of the benchmark (letters, boxed numbers, programs, JSON, calls, harmony sections). A share of
// them, Config.Quality, is right, which determines the score of an accuracy run.
//
// One goroutine per connection reads requests and prepares answers. One engine thread owns the schedule and writes
// every streamed event directly to its socket. Answers depend only on the seed and the prompt, faults only on the seed
// and the ordinal of the request.
//
// It may import datasets and models. No client package imports it: a client talks to it through a socket.
package sim
