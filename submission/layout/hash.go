package layout

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

var hashLine = regexp.MustCompile(`^hash=(\w+)$`)

// TruncationHash returns the hash that truncation has written into an accuracy.txt; empty: none. A scorer may write a
// hash, too: that of a JSON object of scores on a line above, which says nothing about the log.
func TruncationHash(text []byte) string {
	above := map[string]bool{}
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		if m := hashLine.FindSubmatch(line); m != nil && !above[string(m[1])] {
			return string(m[1])
		}
		if bytes.HasPrefix(line, []byte("{")) && bytes.HasSuffix(line, []byte("}")) {
			sum := sha256.Sum256(line)
			above[hex.EncodeToString(sum[:])] = true
		}
	}
	return ""
}
