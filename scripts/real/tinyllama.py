"""Writes a tiny llama model with a tokenizer and a chat template, for engines that read Hugging Face's folders.

usage: tinyllama.py FOLDER random|end

Two layers, width 64, a byte-level vocabulary with pairs of letters as words. "random" is what a fixed seed gives: answers of any token, now and then the
end token. "end" answers every prompt with the end token at once: component 0 of the residual stream is the same positive number for
every token, no layer writes to it, and the output weight of the end token reads it.
"""

import string
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ["<pad>", "<s>", "</s>"]
END = 2
folder, kind = sys.argv[1], sys.argv[2]

letters = string.ascii_lowercase
pairs = [a + b for a in letters for b in letters]
words = SPECIAL + sorted(pre_tokenizers.ByteLevel.alphabet()) + pairs
core = Tokenizer(models.BPE(vocab={w: i for i, w in enumerate(words)}, merges=[(p[0], p[1]) for p in pairs]))
core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
core.decoder = decoders.ByteLevel()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token=SPECIAL[0], bos_token=SPECIAL[1], eos_token=SPECIAL[END], model_max_length=2048)
tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
tokenizer.save_pretrained(folder)

torch.manual_seed(1)
model = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, head_dim=32,
        max_position_embeddings=2048, pad_token_id=0, bos_token_id=1, eos_token_id=END, tie_word_embeddings=False,
    )
)
if kind == "end":
    with torch.no_grad():
        model.model.embed_tokens.weight[:, 0] = 4.0
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight[0, :] = 0.0
            layer.mlp.down_proj.weight[0, :] = 0.0
        model.lm_head.weight[:, 0] = -4.0
        model.lm_head.weight[END, 0] = 4.0
model = model.to(torch.bfloat16)
model.generation_config.eos_token_id = END
model.save_pretrained(folder)
