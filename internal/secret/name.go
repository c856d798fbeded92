package secret

import (
	"regexp"
	"slices"
	"strings"
)

// Hidden stands in the place of a secret.
const Hidden = "***"

// The words by which a name tells of a secret. One of always does, one of last where the name ends in it, alone or
// before one of form.
var (
	always = []string{
		"secret", "secrets", "password", "passwd", "passphrase", "passwort", "credential", "credentials", "apikey", "apikeys",
		"authorization",
		"privatekey", "secretkey", "accesskey", "authtoken", "accesstoken", "bearer", "cookie",
	}
	last = []string{"key", "keys", "token", "pass", "pwd", "auth", "signature", "dsn", "jwt", "pat"}
	form = []string{"value", "data", "text", "base64", "b64"}
	// notSecret ends names of what leads to a secret and is none.
	notSecret = []string{"file", "path", "dir", "folder", "sock", "socket", "name", "type", "command", "cmd", "helper"}
)

// harmless are words before "key" and "token" that make them words of load balancing, sorting and language models:
// --lb-key, eos_token.
var harmless = []string{
	"lb", "sort", "group", "partition", "shard", "row", "cache", "primary", "foreign", "hash",
	"bos", "eos", "pad", "unk", "sep", "cls", "mask", "stop", "end", "special", "added", "first", "last", "next", "per",
}

// between matches what stands between the words of a name: signs, and the step from a small letter to a large one.
var (
	step    = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	between = regexp.MustCompile(`[^A-Za-z0-9]+`)
)

func words(name string) []string {
	name = step.ReplaceAllString(name, "$1 $2")
	return strings.Fields(strings.ToLower(between.ReplaceAllString(name, " ")))
}

// Name reports whether a name is one of a secret: of an argument, a variable or a field.
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

// telling reports whether a name in a text of any kind is one of a secret: "key" and "token" alone are words of such
// texts too.
func telling(name string) bool {
	return Name(name) && (len(words(name)) > 1 || slices.Contains(always, strings.ToLower(name)) ||
		strings.EqualFold(name, "pass"))
}

// isFlag reports whether a word of a command line names an argument: dashes and a letter.
func isFlag(word string) bool {
	name := strings.TrimLeft(word, "-")
	return name != word && name != "" && (name[0] >= 'a' && name[0] <= 'z' || name[0] >= 'A' && name[0] <= 'Z')
}

// Args is a command line without the values of arguments whose names tell of a secret, in any spelling: --api-key x,
// --API_KEY=x.
func Args(line []string) []string {
	shown, _ := args(line)
	return shown
}

// args is Args, with what was hidden.
func args(line []string) (shown, values []string) {
	shown = slices.Clone(line)
	var next, more bool // values of a secret argument are expected: the next word, however it begins, and more
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
