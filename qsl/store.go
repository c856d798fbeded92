package qsl

// Sizes of blocks in bytes: thousands of requests share few of them.
const (
	memoryBlock  = 4 << 20
	scratchBlock = 32 << 20
)

// block is a piece of storage that is filled from its beginning and freed when the last request in it is dropped.
type block struct {
	b      []byte // the storage; read-only in the scratch file
	used   int
	live   int   // requests in it
	offset int64 // where it begins in the scratch file; -1: in memory
}

// store keeps request bytes, up to a limit in memory and the rest in a scratch file.
type store struct {
	limit   int64
	dir     string
	memory  int64 // bytes of the memory blocks
	current *block
	file    *scratchFile
	spilled bool
}

// put copies body into a block.
func (s *store) put(body []byte) ([]byte, *block, error) {
	if s.current == nil || len(s.current.b)-s.current.used < len(body) {
		b, err := s.newBlock(len(body))
		if err != nil {
			return nil, nil, err
		}
		s.retire()
		s.current = b
	}
	c := s.current
	end := c.used + len(body)
	if c.offset < 0 {
		copy(c.b[c.used:], body)
	} else if err := s.file.write(body, c.offset+int64(c.used)); err != nil {
		return nil, nil, err
	}
	kept := c.b[c.used:end:end]
	c.used = end
	c.live++
	return kept, c, nil
}

func (s *store) newBlock(atLeast int) (*block, error) {
	size := max(int(min(memoryBlock, s.limit)), atLeast)
	if s.memory+int64(size) <= s.limit {
		s.memory += int64(size)
		return &block{b: make([]byte, size), offset: -1}, nil
	}
	if s.file == nil {
		file, err := newScratchFile(s.dir, s.limit)
		if err != nil {
			return nil, err
		}
		s.file, s.spilled = file, true
	}
	return s.file.block(max(scratchBlock, atLeast))
}

// drop takes a request out of its block.
func (s *store) drop(b *block) {
	if b.live--; b.live == 0 && b != s.current {
		s.free(b)
	}
	if s.current != nil && s.current.live == 0 {
		s.retire()
	}
}

// retire stops filling the current block, and frees it where nothing in it is live.
func (s *store) retire() {
	if s.current != nil && s.current.live == 0 {
		s.free(s.current)
	}
	s.current = nil
}

func (s *store) free(b *block) {
	if b.offset < 0 {
		s.memory -= int64(len(b.b))
		return // the garbage collector takes it when the last reader is gone
	}
	s.file.release(b)
}

// settle is called when a load is complete, before queries are timed.
func (s *store) settle() {
	if s.file != nil {
		s.file.prefault()
	}
}

func (s *store) close() error {
	s.current, s.memory = nil, 0
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.close()
}
