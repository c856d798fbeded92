// Package schema contains the schemas of the files that this program writes for other programs.
//
// Run and Campaign are the texts of the JSON Schemas (draft 2020-12) of run.json and campaign.json. The schemas allow
// no unknown field, so a field that is added, renamed or dropped fails the tests here before it surprises a script.
//
// The package imports nothing of the project; its tests run the built program and validate its files.
package schema
