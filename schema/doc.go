// Package schema holds the form of the files that this program writes for other programs to read.
//
// It owns run.schema.json and campaign.schema.json, the JSON Schemas (draft 2020-12) of a run's record run.json and of
// a campaign's state campaign.json, and gives their texts to whoever wants to check one from Go. Nothing flows in. The
// schemas are strict: what they do not name may not stand in a file, so a field that is added, renamed or dropped fails
// the tests here before it surprises a script.
//
// The package imports nothing of the project; its tests run the built program and hold its files against the schemas.
package schema
