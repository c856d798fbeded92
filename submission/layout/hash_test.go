package layout

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTruncationHash(t *testing.T) {
	const scores = `{"f1": 0.7824}`
	own := fmt.Sprintf("Results\n\n%s\n\nhash=%x", scores, sha256.Sum256([]byte(scores)))
	log := strings.Repeat("ab", 32)
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"no hash", "{'rouge1': 40}\n", ""},
		{"of truncation", "{'rouge1': 40}\n\nhash=" + log + "\n", log},
		{"with carriage returns", "a\r\nhash=" + log + "\r\n", log},
		{"of the scorer", own, ""},
		{"of both", own + "\nhash=" + log + "\n", log},
		{"of the scorer, before its line", fmt.Sprintf("hash=%x\n%s\n", sha256.Sum256([]byte(scores)), scores),
			fmt.Sprintf("%x", sha256.Sum256([]byte(scores)))},
		{"not a line of its own", "the hash=" + log, ""},
	} {
		require.Equal(t, c.want, TruncationHash([]byte(c.text)), c.name)
	}
}
