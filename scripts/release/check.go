package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The promises of a release (docs/how-to/release.md#the-files).
const (
	newestGlibc = "2.28" // of Red Hat Enterprise Linux 8, the oldest system that the organisers' containers use
	largestFile = 30_000_000
)

// systemLibraries are those that a program may load; they all belong to glibc.
var systemLibraries = []string{"libc.so.", "libm.so.", "libpthread.so.", "libdl.so.", "libresolv.so.", "librt.so.",
	"ld-linux"}

// check returns the faults that prevent the program at path from running on the systems of a release.
func check(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	faults, err := linkFaults(f)
	if err != nil {
		return err
	}
	if info.Size() > largestFile {
		faults = append(faults, fmt.Errorf("%d bytes; at most %d are allowed", info.Size(), largestFile))
	}
	for _, name := range []string{".symtab", ".debug_info", ".zdebug_info"} {
		if f.Section(name) != nil {
			faults = append(faults, fmt.Errorf("section %s: the program is not stripped", name))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("%s is not fit for a release:\n%w", path, err)
	}
	return nil
}

// linkFaults lists the program's requirements that an old system lacks. Symbols of NVIDIA's library may be undefined,
// because go-nvml loads the library if there is one. For this the linker reports no missing symbol, so each one is
// checked here.
func linkFaults(f *elf.File) (faults []error, err error) {
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	for _, l := range libraries {
		if !hasPrefix(l, systemLibraries) {
			faults = append(faults, fmt.Errorf("loads %s; link it statically", l))
		}
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF || strings.HasPrefix(s.Name, "nvml") {
			continue
		}
		version, versioned := strings.CutPrefix(s.Version, "GLIBC_")
		switch {
		case versioned && newer(version, newestGlibc):
			faults = append(faults, fmt.Errorf("%s needs glibc %s, newer than %s", s.Name, version, newestGlibc))
		case !versioned && elf.ST_BIND(s.Info) != elf.STB_WEAK:
			faults = append(faults, fmt.Errorf("%s is in no library of glibc %s; scripts/release/glibc/compat.c may define it",
				s.Name, newestGlibc))
		}
	}
	return faults, nil
}

func hasPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// newer reports whether version a, as in 2.3.4, is newer than b. Words such as PRIVATE count as newer than any number.
func newer(a, b string) bool {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if n, m := number(x), number(y); n != m {
			return n > m
		}
	}
	return false
}

func number(word string) int {
	if word == "" {
		return 0
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		return 1 << 30
	}
	return n
}
