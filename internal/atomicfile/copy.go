package atomicfile

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// SHA256 returns the hash of a file's bytes in 64 lower-case hexadecimal digits.
func SHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	return sumOf(f)
}

// sumOf hashes the rest of a file and closes it.
func sumOf(f *os.File) (string, error) {
	defer f.Close()
	sum, fill := copyFill(f)
	if err := fill(io.Discard); err != nil {
		return "", err
	}
	return sum(), nil
}

// Copy replaces to with the bytes of from, and returns their SHA-256.
func (a Access) Copy(from, to string) (string, error) {
	f, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum, fill := copyFill(f)
	if err := a.Write(to, fill); err != nil {
		return "", err
	}
	return sum(), nil
}

// copyFill returns a fill function that copies from, and a function that returns the hash of the copied bytes.
func copyFill(from io.Reader) (sum func() string, fill func(io.Writer) error) {
	h := sha256.New()
	return func() string { return hex.EncodeToString(h.Sum(nil)) }, func(w io.Writer) error {
		_, err := io.Copy(io.MultiWriter(w, h), from)
		return err
	}
}
