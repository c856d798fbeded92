// Package finder finds the tokenizer of a model and records where it came from.
//
// Find tries a path, the local Hugging Face cache, the server's own /tokenize and, if Options.Fetch allows it, a
// download. FromEnviron returns the Options that the given environment sets. The resulting Found counts, encodes and
// decodes tokens; a record keeps its Source.
//
// The package reads no flags or environment and prints nothing. Of this project it imports only tokenizer,
// internal/atomicfile and internal/httpclient.
package finder
