package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// changed is the module of which a release leaves out a package (scripts/release/brotli). Its hash is not that of what
// is linked.
const changed = "github.com/parquet-go/parquet-go"

// addSums adds the hashes of Go modules from go.sum. The program does not contain them if it was built from a vendor
// folder. A go.sum has the SHA-256 of the list of a module's files ("h1:").
func addSums(components []object, sums string) error {
	text, err := os.ReadFile(sums)
	if err != nil {
		return err
	}
	of := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] != changed {
			of[f[0]+" "+f[1]] = f[2]
		}
	}
	for _, c := range components {
		sum, ok := strings.CutPrefix(of[fmt.Sprint(c["name"], " ", c["version"])], "h1:")
		if !ok {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(sum)
		if err != nil {
			return fmt.Errorf("%s: the hash of %v: %w", sums, c["name"], err)
		}
		c["hashes"] = []object{{"alg": "SHA-256", "content": hex.EncodeToString(raw)}}
	}
	return nil
}
