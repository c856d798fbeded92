"""Trains small SentencePiece models on text made here, and records what the sentencepiece package makes of some texts.

python3 make.py FOLDER [MODEL...]   (pip install sentencepiece)
"""
import io
import json
import random
import sys

import sentencepiece

WORDS = ("the keeper of a lighthouse writes down what he sees: ships, gulls, weather and the price of oil; 12 boats at 7:45, twenty-three nets "
         "mended, unbelievably cheerful. naïve café résumé 灯台 海 Größe straße don't we'll never (ever) return <b>bold</b> x = y + 1; "
         "harbour harbours harboured light lights lighting lighted storm stormy stormier wind windy window windows").split()


def corpus():
    made = random.Random(7)
    syllables = [c + v for c in "bdfgklmnprst" for v in "aeiou"]
    words = WORDS * 4 + ["".join(made.choices(syllables, k=made.randint(2, 4))) + made.choice(["", "s", "ed", "ing", "er"]) for _ in range(300)]
    for _ in range(900):
        yield " ".join(made.choices(words, k=made.randint(3, 12)))


RULES = "41\t61\n42\t62\n2460\t31\n66 66 69\tFB03\n20 20 20\t20\nA0\t20\n2028\t\n"

MODELS = {
    # as Llama-2 and Mixtral have it
    "bpe": dict(model_type="bpe", vocab_size=700, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.98),
    "bpe_rules": dict(model_type="bpe", vocab_size=420, normalization_rule_tsv="rules.tsv", user_defined_symbols=["<b>", "</b>", "oil; "], character_coverage=0.98),
    "bpe_split": dict(model_type="bpe", vocab_size=420, normalization_rule_name="identity", add_dummy_prefix=False, split_by_whitespace=False),
    "unigram": dict(model_type="unigram", vocab_size=420, normalization_rule_name="identity", character_coverage=0.98),
    "unigram_bytes": dict(model_type="unigram", vocab_size=640, byte_fallback=True, normalization_rule_tsv="rules.tsv", user_defined_symbols=["<b>", "light"], character_coverage=0.98,
                          remove_extra_whitespaces=False),
    "unigram_suffix": dict(model_type="unigram", vocab_size=420, normalization_rule_name="identity", treat_whitespace_as_suffix=True, unk_surface="?"),
    # with the large table of Unicode's compatibility forms, for a comparison on the spot
    "unigram_nmt": dict(model_type="unigram", vocab_size=420, normalization_rule_name="nmt_nfkc"),
    "bpe_nfkc_cf": dict(model_type="bpe", vocab_size=700, byte_fallback=True, normalization_rule_name="nfkc_cf"),
}

TEXTS = ["", " ", "   ", "the keeper", " the  keeper ", "  two  spaces   three", "lighthouse lighthouses", "ABBA Ab ①① ffi ffi", "naïve café 灯台 海 unknown: 猫🐈 ﷺ", "a\tb\nc\r\nd\u00a0e\u2028f",
         "<b>bold</b> <b> light lighting</b>", "oil; oil", "▁the▁keeper", "▁", "x▁y ▁z", "<s>hello</s> <unk>", "e\u0301 \u00e9 ﬁ Ａ Ⅷ ½ ㍿", "\u200bzero\u200dwidth", "1234567890 7:45", "🐈🐈 🐈", "don't", "a" * 40,
         "\u0130stanbul STRASSE ẞ", "\ufeffmark", "tab\t\ttab", "<0x41>"]


def main():
    folder, names = sys.argv[1], sys.argv[2:] or [n for n in MODELS if n not in ("unigram_nmt", "bpe_nfkc_cf")]
    open(folder + "/rules.tsv", "w").write(RULES)
    for name in names:
        options, made = dict(MODELS[name]), io.BytesIO()
        if "normalization_rule_tsv" in options:
            options["normalization_rule_tsv"] = folder + "/rules.tsv"
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(list(corpus())), model_writer=made, hard_vocab_limit=False, num_threads=1, minloglevel=2, **options)
        open(f"{folder}/{name}.model", "wb").write(made.getvalue())
        p = sentencepiece.SentencePieceProcessor(model_proto=made.getvalue())
        rand = random.Random(3)
        lines = list(corpus())
        texts = TEXTS + lines[:15] + ["".join(rand.choices("".join(TEXTS) + " " * 9, k=rand.randint(1, 60))) for _ in range(120)]
        encode = [{"text": t, "ids": p.encode(t)} for t in texts]
        decode = [{"ids": c["ids"], "text": p.decode(c["ids"])} for c in encode]
        for _ in range(100):
            ids = [rand.randrange(p.get_piece_size()) for _ in range(rand.randint(1, 12))]
            decode.append({"ids": ids, "text": p.decode(ids)})
        json.dump({"encode": encode, "decode": decode}, open(f"{folder}/{name}.json", "w"), ensure_ascii=False, separators=(",", ":"))


main()
