package secret

import (
	"regexp"
	"strings"
)

// Patterns of secrets in free text.
var (
	// user matches the user and password of an address.
	user = regexp.MustCompile(`(://)[^/\s"'@]+@`)
	// bearer matches the value of a header.
	bearer = regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)([A-Za-z0-9._~+/=-]{6,})`)
	// issued matches keys with the prefix of a known issuer.
	issued = regexp.MustCompile(`\b(?:hf_|sk-|nvapi-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA)` +
		`[A-Za-z0-9_-]{12,}`)
	// pem matches a private key up to its end or the end of the text.
	pem = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
	// assigned matches NAME=value, "name": "value", name: value.
	assigned = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]*)(["']?\s*[=:]\s*)` +
		`("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&|"'(){}\[\]]+)`)
	// flagged matches --name value.
	flagged = regexp.MustCompile(`(--?[A-Za-z][A-Za-z0-9_.-]*)(\s+)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+)`)
)

// switches matches values that are never secret.
var switches = regexp.MustCompile(`^["']?(?:|none|null|nil|true|false|yes|no|on|off|auto|\*\*\*|-?[0-9.]+)["']?$`)

// IsSwitch reports whether a value is empty, a number or a truth value.
func IsSwitch(value string) bool { return switches.MatchString(strings.ToLower(value)) }

// Text hides the secrets in a text that it recognizes by their form or by the name before them.
func Text(text string) string {
	shown, _ := named(text)
	return shown
}

// named returns the result of Text and the values that it found by their names.
func named(text string) (shown string, values []string) {
	text = pem.ReplaceAllString(text, Hidden)
	text = user.ReplaceAllString(text, "${1}"+Hidden+"@")
	text = bearer.ReplaceAllStringFunc(text, func(match string) string {
		parts := bearer.FindStringSubmatch(match)
		if !strings.ContainsAny(parts[2], "0123456789._~+/=-") { // an English word is not a secret
			return match
		}
		return parts[1] + Hidden
	})
	text = issued.ReplaceAllString(text, Hidden)
	for _, form := range []struct {
		*regexp.Regexp
		tells func(name string) bool
	}{{assigned, telling}, {flagged, Name}} {
		text = form.ReplaceAllStringFunc(text, func(match string) string {
			parts := form.FindStringSubmatch(match)
			if !form.tells(parts[1]) || IsSwitch(parts[3]) {
				return match
			}
			quote := ""
			if c := parts[3][:1]; c == `"` || c == "'" {
				quote = c
			}
			values = append(values, strings.Trim(parts[3], quote))
			return parts[1] + parts[2] + quote + Hidden + quote
		})
	}
	return text, values
}
