package pack

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
)

// secret is the location of a probable secret.
type secret struct {
	line int // from 1
	kind string
}

// pattern matches a kind of secret. Lines without one of the texts in begin cannot match and are skipped.
type pattern struct {
	kind  string
	begin []string
	match *regexp.Regexp
}

// patterns lists the formats of keys and tokens. Each is long or distinct enough not to occur in logs and token ids by
// chance.
var patterns = []pattern{
	{"a private key", []string{"PRIVATE KEY"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY`)},
	{"a Hugging Face token", []string{"hf_"}, regexp.MustCompile(`\bhf_[A-Za-z0-9]{30,}`)},
	{"an API key", []string{"sk-"}, regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}`)},
	{"a cloud provider's key", []string{"AKIA", "ASIA"}, regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{"a cloud provider's key", []string{"AIza"}, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`)},
	{"a GitHub token", []string{"ghp_", "gho_", "ghs_", "github_pat_"},
		regexp.MustCompile(`\b(gh[pos]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40,})`)},
	{"a GitLab token", []string{"glpat-"}, regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`)},
	{"a chat service's token", []string{"xox"}, regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10,}`)},
	{"an NGC key", []string{"nvapi-"}, regexp.MustCompile(`\bnvapi-[A-Za-z0-9_-]{20,}`)},
	{"a signed web token", []string{"eyJ"},
		regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)},
	{"a bearer token", []string{"earer "}, regexp.MustCompile(`\b[Bb]earer [A-Za-z0-9._~+/=-]{16,}`)},
	{"a password in a URL", []string{"://"}, regexp.MustCompile(`://[^/\s:@'"]+:[^/\s@*'"]{3,}@`)},
	{"an assigned secret", []string{"key", "KEY", "Key", "oken", "OKEN", "assw", "ASSW"},
		regexp.MustCompile(`(?i)\b(api[-_]?key|secret[-_]?access[-_]?key|auth[-_]?token|password|passwd)` +
			`["']?\s*[=:]\s*["']?[A-Za-z0-9._~+/=-]{12,}`)},
}

// Limits of the search. Longer lines are searched in pieces that overlap by more than the length of a secret.
const (
	piece   = 64 << 10
	overlap = 8 << 10 // a web token with the claims of a cluster has more than 1,000 bytes
	maxHits = 20      // per file
)

// search returns the first hits in a text. It may stop before the end of the text.
func search(r io.Reader) ([]secret, error) {
	in := bufio.NewReaderSize(r, piece)
	var found []secret
	line, tail := 1, []byte(nil)
	for len(found) < maxHits {
		part, err := in.ReadSlice('\n')
		text := append(tail, part...)
		for _, p := range patterns {
			if p.in(text) && (len(found) == 0 || found[len(found)-1] != secret{line, p.kind}) {
				found = append(found, secret{line, p.kind})
			}
		}
		switch {
		case err == bufio.ErrBufferFull:
			tail = bytes.Clone(text[len(text)-overlap:]) // it has at least a piece
			continue
		case err == io.EOF:
			return found, nil
		case err != nil:
			return nil, err
		}
		line, tail = line+1, nil
	}
	return found, nil
}

func (p *pattern) in(text []byte) bool {
	for _, b := range p.begin {
		if bytes.Contains(text, []byte(b)) {
			return p.match.Match(text)
		}
	}
	return false
}
