// Package profiles embeds the predefined workload profiles: HARNESS/NAME.yaml, each in the program's own form.
// Package workload/catalog finds and reads them. It imports nothing of the project.
package profiles
