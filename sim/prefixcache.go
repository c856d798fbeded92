package sim

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// prefixBlock is the number of tokens of a block of the prefix cache, that of vLLM.
const prefixBlock = 16

// prefixCache contains the blocks of earlier prompts. Like vLLM, it finds whole blocks only, and never the last token
// of a prompt, whose logits the first output token needs. Answers are not kept. If it is full, it drops everything.
type prefixCache struct {
	seed maphash.Seed
	most int // blocks

	mu     sync.Mutex
	blocks map[uint64]struct{} // by hash of all tokens up to the end of the block
}

func newPrefixCache(tokens int) *prefixCache {
	return &prefixCache{seed: maphash.MakeSeed(), most: tokens / prefixBlock, blocks: map[uint64]struct{}{}}
}

// take returns how many tokens of a prompt are in the cache, and keeps the prompt; -1: there is no cache.
func (c *prefixCache) take(prompt []int32) int {
	if c == nil {
		return -1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.blocks)+len(prompt)/prefixBlock > c.most {
		clear(c.blocks)
	}
	cached, isHit := 0, true
	var text [8 + 4*prefixBlock]byte // the hash of the blocks before, and the tokens of this one
	for from := 0; from+prefixBlock <= len(prompt); from += prefixBlock {
		for i, id := range prompt[from : from+prefixBlock] {
			binary.LittleEndian.PutUint32(text[8+4*i:], uint32(id))
		}
		hash := maphash.Bytes(c.seed, text[:])
		binary.LittleEndian.PutUint64(text[:], hash)
		_, known := c.blocks[hash]
		if isHit = isHit && known && from+prefixBlock < len(prompt); isHit {
			cached += prefixBlock
		}
		c.blocks[hash] = struct{}{}
	}
	return cached
}

// empty drops all blocks.
func (c *prefixCache) empty() {
	if c == nil {
		return
	}
	c.mu.Lock()
	clear(c.blocks)
	c.mu.Unlock()
}
