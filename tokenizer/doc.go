// Package tokenizer turns text into token ids and back, as a Hugging Face tokenizer.json or a SentencePiece
// tokenizer.model says.
//
// In comes the path of a tokenizer.json (byte-level BPE as of the Llama-3, Qwen, DeepSeek and gpt-oss families, or BPE
// with byte fallback as of Llama-2 and Mixtral) or of a tokenizer.model (BPE or unigram); a tokenizer_config.json
// beside it tells whether decoded text is cleaned up. Out come ids, text, and a stream that decodes id by id and never
// cuts a character. Package finder looks a tokenizer up.
//
// A part of the file that this package does not know is refused by its name when the file is opened: a tokenizer that
// opens gives the ids and the text that the reference library gives. The split patterns of the known models are
// scanners written by hand, because Go's regexp has no look-ahead. A Tokenizer is immutable and safe for concurrent
// use.
//
// The package reads no flag, no environment and no network, and imports nothing of the project.
package tokenizer
