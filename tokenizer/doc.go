// Package tokenizer converts text to token ids and back. It reads a Hugging Face tokenizer.json (byte-level BPE of the
// Llama-3, Qwen, DeepSeek and gpt-oss families; BPE with byte fallback of Llama-2 and Mixtral) or a SentencePiece
// tokenizer.model (BPE or unigram). A tokenizer_config.json in the same folder decides whether decoded text is cleaned
// up.
//
//	t, err := tokenizer.Open("models/llama3.1-8b")
//	ids := t.Encode("Hello", true)
//	text := t.Decode(ids, true)
//
// A Stream decodes ids one by one and never splits a character. Package finder looks up the tokenizer of a model.
//
// Open rejects a file with a part that this package does not implement and names the part. A tokenizer that opens
// produces the same ids and text as the reference library. The split patterns of the known models are hand-written
// scanners because Go's regexp has no look-ahead. A Tokenizer is immutable and safe for concurrent use.
//
// The package reads no flags, environment or network, and imports nothing of this project.
package tokenizer
