package config

import (
	"fmt"
	"strings"
	"unicode"
)

// MissingValue returns an error if the value of a flag is missing and another flag follows, which the flag parser would
// take as the value. takesValue reports whether a flag of that name, without its dashes, exists, and whether a value
// follows it.
//
// Any word that begins with two dashes counts as a flag, because it may be a misspelled one. A text with spaces does
// not. A value after an equals sign is never checked.
func MissingValue(args []string, takesValue func(name string) (known, takes bool)) error {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, isFlag := flagName(args[i])
		if !isFlag || strings.Contains(args[i], "=") || i+1 == len(args) {
			continue
		}
		if _, takes := takesValue(name); !takes {
			continue
		}
		following, isFlag := flagName(args[i+1])
		known, _ := takesValue(following)
		if args[i+1] == "--" || isFlag && (known || strings.HasPrefix(args[i+1], "--")) {
			next, _, _ := strings.Cut(args[i+1], "=")
			return fmt.Errorf("%s requires a value, but %s follows it; write %[1]s=VALUE if the value begins with a dash",
				args[i], next)
		}
		i++
	}
	return nil
}

// flagName returns the name in --name, -n and --name=value.
func flagName(arg string) (name string, ok bool) {
	name = strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	name, _, _ = strings.Cut(name, "=")
	return name, name != "" && arg[0] == '-' && unicode.IsLetter(rune(name[0])) && !strings.ContainsAny(name, " \t\n")
}
