package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// certificates lists where distributions keep trusted authorities; the first that exists is used.
var certificates = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"}

// accounts are the files that name the image's user, and that direct look-ups of names to /etc/hosts and DNS.
var accounts = map[string]string{
	"etc/passwd":        "root:x:0:0:root:/:\nmlperf:x:65532:65532:mlperf-go:/work:\n",
	"etc/group":         "root:x:0:\nmlperf:x:65532:\n",
	"etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}

// writeRootfs writes the files of the image into dir: the program, the libraries of the compiler's C library that it
// loads, the certificate authorities of this machine, and folders that its user may write.
func writeRootfs(binary, compiler, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	program := filepath.Join(dir, "usr/local/bin/mlperf-go")
	if err := copyFile(binary, program, 0o755); err != nil {
		return err
	}
	if err := copyLibraries(binary, compiler, dir); err != nil {
		return err
	}
	i := slices.IndexFunc(certificates, func(path string) bool { _, err := os.Stat(path); return err == nil })
	if i < 0 {
		return fmt.Errorf("none of %v exists; install the package ca-certificates", certificates)
	}
	if err := copyFile(certificates[i], filepath.Join(dir, "etc/ssl/certs/ca-certificates.crt"), 0o644); err != nil {
		return err
	}
	for name, text := range accounts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, name := range []string{"tmp", "work"} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o777); err != nil {
			return err
		}
		if err := os.Chmod(path, 0o777|os.ModeSticky); err != nil {
			return err
		}
	}
	return nil
}

// copyLibraries copies the loader and every library that the program loads, directly or through another, to /lib.
// /lib64 is the same folder: loaders of some distributions look there.
func copyLibraries(binary, compiler, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "lib"), 0o755); err != nil {
		return err
	}
	if err := os.Symlink("lib", filepath.Join(dir, "lib64")); err != nil {
		return err
	}
	// glibc loads the last two by itself, to look names up.
	todo, done := []string{"libresolv.so.2", "libnss_files.so.2", "libnss_dns.so.2"}, map[string]bool{}
	needed, err := neededBy(binary)
	if err != nil {
		return err
	}
	todo = append(todo, needed...)
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if done[name] {
			continue
		}
		done[name] = true
		out, err := exec.Command(compiler, "-print-file-name="+name).Output()
		if err != nil {
			return fmt.Errorf("%s -print-file-name=%s: %w", compiler, name, err)
		}
		from := strings.TrimSpace(string(out))
		if !filepath.IsAbs(from) {
			return fmt.Errorf("%s has no %s; install the C library of its machine", compiler, name)
		}
		if err := copyFile(from, filepath.Join(dir, "lib", name), 0o755); err != nil {
			return err
		}
		if needed, err = neededBy(from); err != nil {
			return err
		}
		todo = append(todo, needed...)
	}
	return nil
}

// neededBy returns the libraries that a file loads, and its loader if it is a program.
func neededBy(path string) ([]string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.ImportedLibraries()
	if s := f.Section(".interp"); err == nil && s != nil {
		text, err := s.Data()
		if err != nil {
			return nil, err
		}
		names = append(names, filepath.Base(strings.TrimRight(string(text), "\x00")))
	}
	return names, err
}

func copyFile(from, to string, mode os.FileMode) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, mode)
}
