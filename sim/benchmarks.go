package sim

// defaultBenchmark is the benchmark of commands that are given none.
const defaultBenchmark = "llama3.1-8b"
