package atomicfile

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// SHA256 is the hash of a file's bytes in 64 lower-case hexadecimal digits.
func SHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Copy makes to hold the bytes of from, and gives the SHA-256 of what was copied.
func Copy(from, to string) (string, error) {
	f, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if err := Write(to, func(w io.Writer) error {
		_, err := io.Copy(io.MultiWriter(w, h), f)
		return err
	}); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
