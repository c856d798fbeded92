package layout

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

var hashLine = regexp.MustCompile(`^hash=(\w+)$`)

// TruncationHash returns the hash of the log that truncation wrote into an accuracy.txt, or "". It ignores a hash that
// a scorer wrote, which is the hash of a line above with a JSON object of scores.
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
