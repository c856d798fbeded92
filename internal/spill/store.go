package spill

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// Sizes of blocks in bytes. Thousands of byte strings share a few blocks.
const (
	memoryBlock  = 4 << 20
	scratchBlock = 32 << 20
)

// Block is a piece of storage that is filled from its beginning and freed when the last byte string in it is dropped.
type Block struct {
	b      []byte // the storage; read-only in the scratch file
	used   int
	live   int   // number of byte strings in the block
	offset int64 // start of the block in the scratch file in bytes; -1: the block is in memory
}

// Store keeps byte strings, up to a limit in memory and the rest in a scratch file. It has one owner: its methods are
// not safe for concurrent use, but bytes that were handed out may be read by anyone until they are dropped or the store
// is closed.
type Store struct {
	limit   int64
	dir     string
	memory  int64 // total size of the memory blocks in bytes
	current *Block
	spare   []*Block // memory blocks that were released and are not used again yet
	maps    [][]byte // mappings of the memory blocks
	file    *scratchFile
	scratch int64 // largest length of the scratch file in bytes
}

// New returns an empty store of at most limit bytes of memory. dir is the folder of the scratch file; it is needed only
// above the limit.
func New(limit int64, dir string) *Store { return &Store{limit: limit, dir: dir} }

// Spilled reports whether the store has used a scratch file since New.
func (s *Store) Spilled() bool { return s.scratch > 0 }

// ScratchBytes returns the largest length of the scratch file since New in bytes; 0 if none was needed.
func (s *Store) ScratchBytes() int64 { return s.scratch }

// Put stores a copy of body and returns it with its block.
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
		return s.memoryBlock(size)
	}
	if s.file == nil {
		file, err := newScratchFile(s.dir, s.limit)
		if err != nil {
			return nil, err
		}
		s.file = file
	}
	b, err := s.file.block(max(scratchBlock, atLeast))
	s.scratch = max(s.scratch, s.file.size)
	return b, err
}

// memoryBlock returns a block of memory of at least size bytes. It is mapped outside Go's heap: the garbage collector
// lets the heap double before it runs, so a limit of 2 GiB would become 4 GiB.
func (s *Store) memoryBlock(size int) (*Block, error) {
	at := slices.IndexFunc(s.spare, func(b *Block) bool { return len(b.b) >= size && s.memory+int64(len(b.b)) <= s.limit })
	if at >= 0 {
		b := s.spare[at]
		s.spare = slices.Delete(s.spare, at, at+1)
		s.memory += int64(len(b.b))
		return b, nil
	}
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("cannot get %d MiB more memory for the requests, of which %d MiB are held: %w; allow less "+
			"request memory, so that a scratch file holds the rest", size>>20, s.memory>>20, err)
	}
	s.maps = append(s.maps, m)
	s.memory += int64(size)
	return &Block{b: m, offset: -1}, nil
}

// Drop removes a byte string from its block.
func (s *Store) Drop(b *Block) {
	if b.live--; b.live == 0 && b != s.current {
		s.free(b)
	}
	if s.current != nil && s.current.live == 0 {
		s.retire()
	}
}

// Keep is like Put, for callers outside of this module. It returns a function that drops the copy, instead of the
// block.
func (s *Store) Keep(body []byte) (kept []byte, free func(), err error) {
	kept, b, err := s.Put(body)
	return kept, func() { s.Drop(b) }, err
}

// retire stops filling the current block and frees it if no byte string in it is live.
func (s *Store) retire() {
	if s.current != nil && s.current.live == 0 {
		s.free(s.current)
	}
	s.current = nil
}

func (s *Store) free(b *Block) {
	if b.offset < 0 {
		// The memory is freed but stays mapped: as with the scratch file, a late reader gets zeros instead of a fault.
		s.memory -= int64(len(b.b))
		_ = unix.Madvise(b.b, unix.MADV_DONTNEED)
		b.used = 0
		s.spare = append(s.spare, b)
		return
	}
	s.file.release(b)
}

// Settle loads the scratch file into memory as far as it fits. Call it before the bytes are needed quickly.
func (s *Store) Settle() {
	if s.file != nil {
		s.file.prefault()
	}
}

// Close frees everything. Byte strings of the store must not be read after it.
func (s *Store) Close() error {
	var errs []error
	for _, m := range s.maps {
		errs = append(errs, unix.Munmap(m))
	}
	s.current, s.memory, s.maps, s.spare = nil, 0, nil, nil
	if s.file != nil {
		errs = append(errs, s.file.close())
		s.file = nil
	}
	return errors.Join(errs...)
}

// Sizes contains the sizes in bytes of a store's memory blocks, of its scratch file, and of the disk space that the
// file occupies.
type Sizes struct{ Memory, File, Disk int64 }

// Sizes returns the store's current sizes.
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
