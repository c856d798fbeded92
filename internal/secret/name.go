package secret

import (
	"regexp"
	"slices"
	"strings"
)

// Hidden replaces a secret.
const Hidden = "***"

// Words that mark the name of a secret: a word of always anywhere in it, a word of last at its end or before a word of
// form.
var (
	always = []string{
		"secret", "secrets", "password", "passwd", "passphrase", "passwort", "credential", "credentials", "apikey", "apikeys",
		"authorization",
		"privatekey", "secretkey", "accesskey", "authtoken", "accesstoken", "bearer", "cookie",
	}
	last = []string{"key", "keys", "token", "pass", "pwd", "auth", "signature", "dsn", "jwt", "pat"}
	form = []string{"value", "data", "text", "base64", "b64"}
	// notSecret lists last words of names that lead to a secret but do not contain one.
	notSecret = []string{"file", "path", "dir", "folder", "sock", "socket", "name", "type", "command", "cmd", "helper"}
)

// harmless lists words that make a following "key" or "token" a term of load balancing, sorting or language models:
// --lb-key, eos_token.
var harmless = []string{
	"lb", "sort", "group", "partition", "shard", "row", "cache", "primary", "foreign", "hash",
	"bos", "eos", "pad", "unk", "sep", "cls", "mask", "stop", "end", "special", "added", "first", "last", "next", "per",
}

// between matches the boundary between words of a name: signs, or a lower-case letter followed by an upper-case one.
var (
	step    = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	between = regexp.MustCompile(`[^A-Za-z0-9]+`)
)

func words(name string) []string {
	name = step.ReplaceAllString(name, "$1 $2")
	return strings.Fields(strings.ToLower(between.ReplaceAllString(name, " ")))
}

// Name reports whether an argument, a variable or a field of this name contains a secret.
func Name(name string) bool {
	w := words(name)
	if len(w) == 0 || slices.Contains(notSecret, w[len(w)-1]) || len(w) == 1 && w[0] == "pwd" {
		return false
	}
	if slices.ContainsFunc(w, func(word string) bool { return slices.Contains(always, word) }) {
		return true
	}
	if len(w) > 1 && slices.Contains(form, w[len(w)-1]) {
		w = w[:len(w)-1]
	}
	end := w[len(w)-1]
	if before := w[max(0, len(w)-2)]; (end == "key" || end == "token") && slices.Contains(harmless, before) {
		return false
	}
	return slices.Contains(last, end) && !(len(w) == 2 && w[0] == "old" && w[1] == "pwd")
}

// telling reports whether a name in free text marks a secret. In free text, "key" and "token" alone are ordinary words.
func telling(name string) bool {
	return Name(name) && (len(words(name)) > 1 || slices.Contains(always, strings.ToLower(name)) ||
		strings.EqualFold(name, "pass"))
}

// isFlag reports whether a word of a command line is a flag: dashes and a letter.
func isFlag(word string) bool {
	name := strings.TrimLeft(word, "-")
	return name != word && name != "" && (name[0] >= 'a' && name[0] <= 'z' || name[0] >= 'A' && name[0] <= 'Z')
}

// Args returns a command line in which the values of secret arguments are hidden, in any spelling: --api-key x,
// --API_KEY=x.
func Args(line []string) []string {
	shown, _ := args(line)
	return shown
}

// args returns the command line of Args and the hidden values.
func args(line []string) (shown, values []string) {
	shown = slices.Clone(line)
	var next, more bool // next: the next word is a secret value, however it begins; more: further values may follow
	for i, w := range line {
		name, value, inline := strings.Cut(w, "=")
		isSecret := isFlag(w) && Name(name)
		switch {
		case next && !strings.HasPrefix(w, "--") || more && !isFlag(w):
			shown[i] = Hidden
			values = append(values, w)
			next = false
			continue
		case isSecret && inline:
			shown[i] = name + "=" + Hidden
			values = append(values, value)
		default:
			var inside []string
			shown[i], inside = named(w)
			values = append(values, inside...)
		}
		next = isSecret && !inline
		more = next
	}
	return shown, values
}
