package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// object is a JSON object of the bill of materials, whose format is https://cyclonedx.org/docs/1.5/json/.
type object = map[string]any

// writeSBOM copies the bill that cyclonedx-gomod wrote of a program's modules. It adds the C++ libraries that are
// linked statically, and sets its time to the release's.
func writeSBOM(version, modules, gcc string, w io.Writer) error {
	when, err := released()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(modules)
	if err != nil {
		return err
	}
	var bill struct {
		Metadata     object   `json:"metadata"`
		Components   []object `json:"components"`
		Dependencies []object `json:"dependencies"`
	}
	whole := object{}
	for _, v := range []any{&whole, &bill} {
		if err := json.Unmarshal(text, v); err != nil {
			return fmt.Errorf("%s: %w", modules, err)
		}
	}
	if len(bill.Components) == 0 || len(bill.Dependencies) == 0 {
		return fmt.Errorf("%s lists no modules", modules)
	}
	if err := addSums(bill.Components, "go.sum"); err != nil {
		return err
	}
	libraries, err := linkedLibraries("third_party/loadgen.lock", gcc)
	if err != nil {
		return err
	}
	bill.Metadata["timestamp"] = when.Format("2006-01-02T15:04:05Z")
	if main, ok := bill.Metadata["component"].(object); ok {
		main["version"] = version
	}
	uses, _ := bill.Dependencies[0]["dependsOn"].([]any)
	for _, l := range libraries {
		bill.Components = append(bill.Components, l)
		bill.Dependencies = append(bill.Dependencies, object{"ref": l["bom-ref"]})
		uses = append(uses, l["bom-ref"])
	}
	bill.Dependencies[0]["dependsOn"] = uses
	whole["metadata"], whole["components"], whole["dependencies"] = bill.Metadata, bill.Components, bill.Dependencies
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(whole)
}

// linkedLibraries returns the components outside the Go modules: LoadGen as pinned in its lock file, and the compiler's
// run-time libraries.
func linkedLibraries(lock, gcc string) ([]object, error) {
	text, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	pinned := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		pinned[key] = value
	}
	name, version := pinned["package"], pinned["version"]
	if name == "" || version == "" || pinned["sha256"] == "" {
		return nil, fmt.Errorf("%s lacks package, version or sha256", lock)
	}
	loadgen := library(name, version, "pkg:pypi/"+name+"@"+version, object{"license": object{"id": "Apache-2.0"}})
	loadgen["hashes"] = []object{{"alg": "SHA-256", "content": pinned["sha256"]}}
	components := []object{loadgen}
	for _, name := range []string{"libstdc++", "libgcc"} {
		components = append(components,
			library(name, gcc, "pkg:generic/"+name+"@"+gcc, object{"expression": "GPL-3.0-or-later WITH GCC-exception-3.1"}))
	}
	return components, nil
}

func library(name, version, purl string, license object) object {
	return object{"bom-ref": purl, "type": "library", "name": name, "version": version, "scope": "required", "purl": purl,
		"licenses": []object{license}}
}
