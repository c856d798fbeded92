"""Writes a tiny llama model in GGUF whose every answer is plain words, whatever the arithmetic of the machine.

usage: gguf.py FILE [calls]

One layer, width 64, weights from a fixed seed. Component 0 of the residual stream is the same positive number for every token and no
layer writes to it; the output weight of component 0 is large for words and as large below zero for everything else (end of
text, control, byte and unknown tokens). So an answer always has as many tokens as it was allowed, each of them visible ASCII text.

With "calls" the steering is another: the model would rather end than begin a call of a function (a token of its own), and rather that than say anything
else. Where a grammar allows no end before a call, its answer is one call, as the grammar has it.
"""

import random
import struct
import sys

WIDTH, HIDDEN, HEADS, CONTEXT = 64, 128, 4, 2048
STEADY, STEER = 4.0, 30.0  # component 0 of each embedding; its output weight
CALL, END = "<tool_call>\n", "</s>"  # what calls.jinja has before a call; the end of a text
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # token types of GGUF
U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9  # value types of GGUF
ALIGNMENT = 32


def vocabulary(calls):
    """Pairs of text and type: three special tokens, 256 bytes, letters, words that begin with a blank, and the beginning of a call."""
    tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), (END, CONTROL)]
    tokens += [("<0x%02X>" % b, BYTE) for b in range(256)]
    tokens += [(c, NORMAL) for c in "abcdefghijklmnopqrstuvwxyz"]
    tokens += [("\u2581" + first + vowel + last, NORMAL) for first in "bdfgklm" for vowel in "aeiou" for last in "nrs"]
    return tokens + ([(CALL, NORMAL)] if calls else [])


def text(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def array(kind, values):
    return struct.pack("<IQ", kind, len(values)) + b"".join(values)


def u32(v):
    return struct.pack("<I", v)


def i32(v):
    return struct.pack("<i", v)


def f32(v):
    return struct.pack("<f", v)


def metadata(tokens):
    pairs = [
        ("general.architecture", STRING, text("llama")),
        ("general.name", STRING, text("tiny-words")),
        ("general.file_type", U32, u32(0)),
        ("llama.context_length", U32, u32(CONTEXT)),
        ("llama.embedding_length", U32, u32(WIDTH)),
        ("llama.block_count", U32, u32(1)),
        ("llama.feed_forward_length", U32, u32(HIDDEN)),
        ("llama.attention.head_count", U32, u32(HEADS)),
        ("llama.attention.head_count_kv", U32, u32(HEADS)),
        ("llama.rope.dimension_count", U32, u32(WIDTH // HEADS)),
        ("llama.vocab_size", U32, u32(len(tokens))),
        ("llama.attention.layer_norm_rms_epsilon", F32, f32(1e-5)),
        ("llama.rope.freq_base", F32, f32(10000.0)),
        ("tokenizer.ggml.model", STRING, text("llama")),
        ("tokenizer.ggml.tokens", ARRAY, array(STRING, [text(t) for t, _ in tokens])),
        ("tokenizer.ggml.scores", ARRAY, array(F32, [f32(-float(i)) for i in range(len(tokens))])),
        ("tokenizer.ggml.token_type", ARRAY, array(I32, [i32(kind) for _, kind in tokens])),
        ("tokenizer.ggml.bos_token_id", U32, u32(1)),
        ("tokenizer.ggml.eos_token_id", U32, u32(2)),
        ("tokenizer.ggml.unknown_token_id", U32, u32(0)),
    ]
    return struct.pack("<Q", len(pairs)), b"".join(text(key) + u32(kind) + value for key, kind, value in pairs)


def steer_to_words(word, kind):
    return STEER if kind == NORMAL and len(word) > 1 else -STEER


def steer_to_calls(word, kind):
    return {END: 2 * STEER, CALL: STEER}.get(word, -STEER)


def tensors(tokens, steer):
    """Triples of name, dimensions (the row's length first) and values."""
    noise = random.Random(1)

    def rows(count, length, first=None):
        """Random rows; with first, component 0 of row i is first(i)."""
        values = []
        for i in range(count):
            row = [noise.gauss(0, 0.05) for _ in range(length)]
            if first is not None:
                row[0] = first(i)
            values += row
        return values

    def quiet(count, length):
        """A matrix that writes nothing to component 0."""
        return [0.0] * length + rows(count - 1, length)

    vocabulary_size, square, block = len(tokens), WIDTH * WIDTH, "blk.0."
    yield "token_embd.weight", [WIDTH, vocabulary_size], rows(vocabulary_size, WIDTH, lambda i: STEADY)
    yield "output_norm.weight", [WIDTH], [1.0] * WIDTH
    yield "output.weight", [WIDTH, vocabulary_size], rows(vocabulary_size, WIDTH, lambda i: steer(*tokens[i]))
    yield block + "attn_norm.weight", [WIDTH], [1.0] * WIDTH
    for name in ("attn_q", "attn_k", "attn_v"):
        yield block + name + ".weight", [WIDTH, WIDTH], rows(1, square)
    yield block + "attn_output.weight", [WIDTH, WIDTH], quiet(WIDTH, WIDTH)
    yield block + "ffn_norm.weight", [WIDTH], [1.0] * WIDTH
    for name in ("ffn_gate", "ffn_up"):
        yield block + name + ".weight", [WIDTH, HIDDEN], rows(HIDDEN, WIDTH)
    yield block + "ffn_down.weight", [HIDDEN, WIDTH], quiet(WIDTH, HIDDEN)


def padded(b):
    return b + b"\0" * (-len(b) % ALIGNMENT)


def main(path, calls):
    tokens = vocabulary(calls)
    info, data, count = b"", b"", 0
    for name, dimensions, values in tensors(tokens, steer_to_calls if calls else steer_to_words):
        info += text(name) + u32(len(dimensions)) + b"".join(struct.pack("<Q", d) for d in dimensions)
        info += u32(0) + struct.pack("<Q", len(data))  # type 0: 32-bit floats
        data += padded(struct.pack("<%df" % len(values), *values))
        count += 1
    pairs, keys = metadata(tokens)
    head = b"GGUF" + u32(3) + struct.pack("<Q", count) + pairs + keys + info
    with open(path, "wb") as f:
        f.write(padded(head) + data)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] == ["calls"])
