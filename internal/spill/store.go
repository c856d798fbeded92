package spill

// Sizes of blocks in bytes: thousands of byte strings share few of them.
const (
	memoryBlock  = 4 << 20
	scratchBlock = 32 << 20
)

// Block is a piece of storage that is filled from its beginning and freed when the last byte string in it is dropped.
type Block struct {
	b      []byte // the storage; read-only in the scratch file
	used   int
	live   int   // byte strings in it
	offset int64 // where it begins in the scratch file; -1: in memory
}

// Store keeps byte strings, up to a limit in memory and the rest in a scratch file. It has one owner: its methods are not safe for
// concurrent use, but bytes that were handed out may be read by anyone until they are dropped or the store is closed.
type Store struct {
	limit   int64
	dir     string
	memory  int64 // bytes of the memory blocks
	current *Block
	file    *scratchFile
	spilled bool
}

// New returns an empty store of at most limit bytes of memory. dir is the folder of the scratch file; it is needed only above the limit.
func New(limit int64, dir string) *Store { return &Store{limit: limit, dir: dir} }

// Spilled says whether a scratch file was needed since New.
func (s *Store) Spilled() bool { return s.spilled }

// Put keeps a copy of body and returns it, with the block that it stands in.
func (s *Store) Put(body []byte) ([]byte, *Block, error) {
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

func (s *Store) newBlock(atLeast int) (*Block, error) {
	size := max(int(min(memoryBlock, s.limit)), atLeast)
	if s.memory+int64(size) <= s.limit {
		s.memory += int64(size)
		return &Block{b: make([]byte, size), offset: -1}, nil
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

// Drop takes a byte string out of its block.
func (s *Store) Drop(b *Block) {
	if b.live--; b.live == 0 && b != s.current {
		s.free(b)
	}
	if s.current != nil && s.current.live == 0 {
		s.retire()
	}
}

// retire stops filling the current block, and frees it where nothing in it is live.
func (s *Store) retire() {
	if s.current != nil && s.current.live == 0 {
		s.free(s.current)
	}
	s.current = nil
}

func (s *Store) free(b *Block) {
	if b.offset < 0 {
		s.memory -= int64(len(b.b))
		return // the garbage collector takes it when the last reader is gone
	}
	s.file.release(b)
}

// Settle brings what was put into the scratch file into memory as far as that allows. It is called before the bytes are wanted in a hurry.
func (s *Store) Settle() {
	if s.file != nil {
		s.file.prefault()
	}
}

// Close frees everything. Bytes that were handed out must no longer be read.
func (s *Store) Close() error {
	s.current, s.memory = nil, 0
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.close()
}

// Sizes are the bytes of a store's memory blocks, the length of its scratch file, and what that takes on its disk.
type Sizes struct{ Memory, File, Disk int64 }

// Sizes tells how much a store takes now.
func (s *Store) Sizes() (Sizes, error) {
	sizes := Sizes{Memory: s.memory}
	if s.file == nil {
		return sizes, nil
	}
	sizes.File = s.file.size
	var err error
	sizes.Disk, err = s.file.disk()
	return sizes, err
}
