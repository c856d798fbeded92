package layout

import (
	"path"
	"slices"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
)

// The divisions of a round, which are the folders in a tree's root.
const (
	Closed  = "closed"
	Open    = "open"
	Network = "network"
)

// Divisions returns their names in the order of the organisers' tools.
func Divisions() []string { return []string{Closed, Open, Network} }

// The files of a submitter's folder and of a scenario's.
const (
	ResultsName      = "results"
	SystemsName      = "systems"
	MeasurementsName = "measurements.json" // since v6.0
	UserConfName     = "user.conf"
	ReadmeName       = "README.md"
	MappingName      = "model_mapping.json" // the submitter's own benchmark names, in the open division
	CalibrationName  = "calibration.md"
	RunName          = "run_1" // the only performance run
	PowerName        = "power" // in performance, if power was measured
	RangingName      = "ranging"
)

// Submitter is a submitter's folder in one division.
type Submitter struct {
	Division string
	Name     string
}

// Folder returns the submitter's folder.
func (s Submitter) Folder() string { return path.Join(s.Division, s.Name) }

// Results returns the folder of the systems' results.
func (s Submitter) Results() string { return path.Join(s.Folder(), ResultsName) }

// System returns the file with the description of a system.
func (s Submitter) System(system string) string {
	return path.Join(s.Folder(), SystemsName, system+".json")
}

// SystemPower returns the file with the nameplate power of a system, for rounds that read it.
func (s Submitter) SystemPower(system string) string {
	return path.Join(s.Folder(), SystemsName, system+"_power.yaml")
}

// Calibration returns the two accepted paths of the calibration document, the usual one first.
func (s Submitter) Calibration() []string {
	return []string{path.Join(s.Folder(), "documentation", CalibrationName), path.Join(s.Folder(), CalibrationName)}
}

// Mapping returns the file with the submitter's own benchmark names.
func (s Submitter) Mapping() string { return path.Join(s.Folder(), MappingName) }

// Scenario identifies a scenario in a tree.
type Scenario struct {
	Submitter
	Round     *rounds.Round
	SystemID  string // name of the system's folder
	Benchmark string // name of the benchmark's folder
	Name      string // name of the scenario's folder
}

// Place returns the place of a campaign's scenario in a round's tree.
func Place(r *rounds.Round, s Submitter, system, benchmark string, scenario models.Scenario) Scenario {
	return Scenario{Submitter: s, Round: r, SystemID: system, Benchmark: benchmark, Name: string(scenario)}
}

// Folder returns the scenario's folder in results.
func (s Scenario) Folder() string {
	return path.Join(s.Results(), s.SystemID, s.Benchmark, s.Name)
}

// Performance returns the folder of the performance run's logs.
func (s Scenario) Performance() string { return path.Join(s.Folder(), PerformanceRun) }

// PerformanceRun is the folder of a performance run's logs, relative to that of a scenario or an audit.
const PerformanceRun = Performance + "/" + RunName

// Accuracy returns the folder of the accuracy run's logs.
func (s Scenario) Accuracy() string { return path.Join(s.Folder(), Accuracy) }

// Measured returns the folder of measurements, user.conf and README.md.
func (s Scenario) Measured() string { return s.beside(s.Round.Layout.Measurements) }

// Measurements returns the measurements file. In rounds with a separate folder, its name begins with the system's.
func (s Scenario) Measurements() string {
	name := MeasurementsName
	if s.Round.Layout.Measurements != "" {
		name = s.SystemID + "_" + s.Name + ".json"
	}
	return path.Join(s.Measured(), name)
}

// Audit returns the folder of an audit.
func (s Scenario) Audit(test string) string {
	if slices.Contains(s.Round.Layout.MovedAudits, test) {
		return path.Join(s.beside(s.Round.Layout.Compliance), test)
	}
	return path.Join(s.Folder(), test)
}

// Code returns the folder of the code; the rules require a README.md in it.
func (s Scenario) Code() string {
	return path.Join(s.Submitter.Folder(), s.Round.Layout.Code, s.Benchmark)
}

// beside returns the folder of the same system, benchmark and scenario in another folder of the submitter.
func (s Scenario) beside(folder string) string {
	if folder == "" {
		return s.Folder()
	}
	return path.Join(s.Submitter.Folder(), folder, s.SystemID, s.Benchmark, s.Name)
}
