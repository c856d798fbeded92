package check

import (
	"bufio"
	"io"
	"math/big"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// columns lists the columns of the organisers' summary (docs/reference/submission-rules.md#summary).
var columns = strings.Split("Organization,Availability,Division,SystemType,SystemName,Platform,Model,MlperfModel,"+
	"Scenario,Result,Accuracy,number_of_nodes,host_processor_model_name,host_processors_per_node,"+
	"host_processor_core_count,accelerator_model_name,accelerators_per_node,total_accelerators,Location,framework,"+
	"operating_system,notes,compliance,errors,version,inferred,has_power,Units,weight_data_types,design_power_watts,"+
	"PrivateID", ",")

// row maps the columns of one line of the summary to values.
type row map[string]string

// CSV writes the organisers' summary of all valid results in the format of their checker, which quotes fields but does
// not escape them.
func (r *Report) CSV(w io.Writer) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(strings.Join(columns, ",") + "\n")
	for _, one := range r.Results {
		if !one.Valid {
			continue
		}
		for i, c := range columns {
			if i > 0 {
				_ = out.WriteByte(',')
			}
			_, _ = out.WriteString(`"` + one.row[c] + `"`)
		}
		_ = out.WriteByte('\n')
	}
	return out.Flush()
}

// fromSystem maps columns to the fields of the system's description from which they are copied.
var fromSystem = map[string]string{
	"Availability": "status", "SystemType": "system_type", "SystemName": "system_name",
	"number_of_nodes": "number_of_nodes", "host_processor_model_name": "host_processor_model_name",
	"host_processors_per_node": "host_processors_per_node", "host_processor_core_count": "host_processor_core_count",
	"accelerator_model_name": "accelerator_model_name", "accelerators_per_node": "accelerators_per_node",
	"framework": "framework", "operating_system": "operating_system",
}

// csvRow returns the line of a scenario folder, or nil if its files do not suffice. It needs the folder's files.
func (s reported) csvRow() row {
	if s.model() == nil || s.result.metric.err != nil || s.result.measurements.err != nil {
		return nil
	}
	sut := s.sut()
	note, _ := notes(sut)
	r := row{
		"Organization": s.at(submitterLevel).name, "Division": s.division(), "Platform": s.at(systemLevel).name,
		"Model": s.at(benchmarkLevel).name, "MlperfModel": s.model().Name, "Scenario": s.name,
		"Result": pyrepr.Float(s.result.metric.value), "Accuracy": s.result.scores.text(),
		"total_accelerators": accelerators(sut), "Location": s.location(), "notes": note,
		"compliance": s.division(), "errors": "0", "version": s.round.Name, "inferred": "0",
		"has_power": pyRepr(s.hasPower()), "Units": s.result.metric.unit,
		"weight_data_types": pyStr(s.result.measurements.values["weight_data_types"]),
	}
	for column, key := range fromSystem {
		r[column] = pyStr(sut.values[key])
	}
	// The official summary compares case-sensitively, so Interactive, whose log is a Server log, counts as inferred.
	if ran := s.result.performance.scenario(); ran != s.name && (ran != "server" || s.name != "interactive") {
		r["inferred"] = "1"
	}
	if s.round.Checker.DesignPower {
		r["design_power_watts"] = "None"
	}
	return r
}

// text returns the scores in the order of accuracy.txt, formatted like a JSON object without commas, quotes and
// braces.
func (t *scores) text() string {
	parts := make([]string, len(t.order))
	for i, name := range t.order {
		parts[i] = name + ": " + t.found[name]
	}
	return strings.Join(parts, "  ")
}

// notes joins both notes of a system like the official summary; ok is false if that fails, since it joins only strings.
func notes(sut *document) (text string, ok bool) {
	hw, sw := sut.values[hardwareNotes], sut.values[softwareNotes]
	if !truthy(sw) {
		if !sut.has(hardwareNotes) {
			return "", true
		}
		return pyStr(hw), true
	}
	first, isText := hw.(string)
	second, isToo := sw.(string)
	switch {
	case !isToo, truthy(hw) && !isText:
		return "", false
	case first != "":
		return first + ". " + second, true
	}
	return second, true
}

// The fields that make up the summary's column "notes".
const (
	hardwareNotes = "hw_notes"
	softwareNotes = "sw_notes"
)

func accelerators(sut *document) string {
	nodes, ok := pyInt(sut.values["number_of_nodes"])
	each, ok2 := pyInt(sut.values["accelerators_per_node"])
	if !ok || !ok2 {
		return ""
	}
	return new(big.Int).Mul(nodes, each).String()
}
