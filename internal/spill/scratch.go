package spill

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// scratchFile stores the bytes above the memory limit. It is unlinked as soon as it is open, so nothing is left behind
// however the process ends. It is written with write(2), which reports a full disk, and read through shared read-only
// maps, so a full disk never becomes a SIGBUS.
type scratchFile struct {
	f     *os.File
	name  string
	size  int64
	maps  [][]byte
	spare []*Block // blocks that were released and are not used again yet
	fresh []*Block // blocks that are not prefaulted yet
}

func newScratchFile(dir string, limit int64) (*scratchFile, error) {
	why := fmt.Sprintf("the requests are larger than the request memory of %d bytes, and", limit)
	if dir == "" {
		return nil, fmt.Errorf("%s no folder for a scratch file was given; name one, or allow more request memory", why)
	}
	f, err := os.CreateTemp(dir, "mlperf-go-requests-*")
	if err != nil {
		return nil, fmt.Errorf("%s no scratch file could be made in %s: %w; name a writable folder, or allow more request "+
			"memory", why, dir, err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s the scratch file %s could not be unlinked: %w; name another folder", why, f.Name(), err)
	}
	return &scratchFile{f: f, name: f.Name()}, nil
}

// block returns a block of at least size bytes, mapped.
func (s *scratchFile) block(size int) (*Block, error) {
	for i, b := range s.spare {
		if len(b.b) >= size {
			s.spare = append(s.spare[:i], s.spare[i+1:]...)
			s.fresh = append(s.fresh, b)
			return b, nil
		}
	}
	page := os.Getpagesize()
	size = (size + page - 1) / page * page
	if err := s.f.Truncate(s.size + int64(size)); err != nil {
		return nil, s.failed("could not grow", err)
	}
	m, err := unix.Mmap(int(s.f.Fd()), s.size, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, s.failed("could not be mapped", err)
	}
	b := &Block{b: m, offset: s.size}
	s.size += int64(size)
	s.maps = append(s.maps, m)
	s.fresh = append(s.fresh, b)
	return b, nil
}

func (s *scratchFile) write(body []byte, at int64) error {
	if _, err := s.f.WriteAt(body, at); err != nil {
		return s.failed("could not be written", err)
	}
	return nil
}

func (s *scratchFile) failed(what string, err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return fmt.Errorf("the scratch file %s (removed at once, so it is not listed) %s at %d MiB because its disk is "+
			"full: %w; free space there, name another folder, or allow more request memory",
			s.name, what, s.size>>20, err)
	}
	return fmt.Errorf("the scratch file %s %s at %d MiB: %w; name another folder, or allow more request memory", s.name,
		what, s.size>>20, err)
}

// release frees a block's disk space and page cache. Its map stays until close and reads as zeros, so that a late
// reader gets wrong bytes instead of a fault. A file system that cannot punch holes keeps the space for the next load.
func (s *scratchFile) release(b *Block) {
	_ = unix.Fallocate(int(s.f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, b.offset, int64(len(b.b)))
	b.used = 0
	s.spare = append(s.spare, b)
}

// prefault maps the pages of new blocks before queries read them. It fills at most half of the machine's memory: beyond
// that, pages would evict each other. It is only advice to the kernel.
func (s *scratchFile) prefault() {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return
	}
	room := int64(info.Totalram) * int64(info.Unit) / 2
	for _, b := range s.fresh {
		if room -= int64(b.used); room < 0 {
			break
		}
		_ = unix.Madvise(b.b[:b.used], unix.MADV_POPULATE_READ)
	}
	s.fresh = s.fresh[:0]
}

func (s *scratchFile) close() error {
	var errs []error
	for _, m := range s.maps {
		errs = append(errs, unix.Munmap(m))
	}
	s.maps, s.spare, s.fresh = nil, nil, nil
	errs = append(errs, s.f.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot free the scratch file %s: %w", s.name, err)
	}
	return nil
}

// disk returns the number of bytes that the file occupies on its disk, without holes.
func (s *scratchFile) disk() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(s.f.Fd()), &st); err != nil {
		return 0, s.failed("could not be measured", err)
	}
	return st.Blocks * 512, nil
}
