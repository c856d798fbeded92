// Package finder finds the tokenizer of a model, and says where it was found.
//
// It owns the order of the four ways: a path, the local Hugging Face cache, the server's own /tokenize, and a download
// that the user allowed. In come Options, which FromEnviron fills from the environment that a command hands over. Out
// comes a Found: it counts, encodes and decodes, and its Source is what a record keeps.
//
// The package reads no flag and no environment itself, prints nothing, and never downloads unless Options.Fetch says
// so. It imports package tokenizer and internal/atomicfile, and may import nothing else of the project.
package finder
