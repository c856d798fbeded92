// Package schema contains the schemas of the files that this program writes for other programs.
//
// Run, Bench, Calibration, Campaign, Search, Sweep, Tune and Experiment are the texts of the JSON Schemas (draft
// 2020-12) of run.json, bench.json, calibration.json, campaign.json, search.json, sweep.json, tune.json and
// experiment.json. The schemas allow no unknown field, so a field that is added, renamed or dropped fails the tests
// before it surprises a script.
//
// The package imports nothing of the project; its tests run the built program and validate its files.
package schema
