package describe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Fill sets empty fields of the system to facts. The first fact about a field counts.
func (d *Description) Fill(facts []Fact) {
	for _, f := range facts {
		if empty(d.System[f.Field]) && !empty(f.Value) {
			d.System[f.Field], d.From[f.Field] = plain(f.Value), f.From
		}
	}
}

// Missing returns the required fields without a value, as section.field, in the order of the template.
func (d *Description) Missing(division string) []string {
	var missing []string
	for _, f := range layout.SystemFields {
		if !f.Empty && empty(d.System[f.Name]) {
			missing = append(missing, keySystem+"."+f.Name)
		}
	}
	for _, f := range layout.MeasurementFields {
		if empty(d.Measurements[f.Name]) {
			missing = append(missing, keyMeasurements+"."+f.Name)
		}
	}
	if division != layout.Open && strings.TrimSpace(d.Calibration) == "" {
		missing = append(missing, keyCalibration)
	}
	return missing
}

// Wrong returns a message for each value that checkers reject.
func (d *Description) Wrong() []string {
	var wrong []string
	for _, one := range []struct {
		field string
		known []string
	}{{"status", layout.Statuses}, {"system_type", layout.SystemTypes}} {
		if v := text(d.System[one.field]); v != "" && !slices.Contains(one.known, v) {
			wrong = append(wrong, fmt.Sprintf("%s.%s is %q; use one of %s", keySystem, one.field, v,
				strings.Join(one.known, " ")))
		}
	}
	for _, field := range layout.NumberFields {
		if v := d.System[field]; !empty(v) {
			if _, err := strconv.Atoi(fmt.Sprint(v)); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s.%s is %v; write a whole number", keySystem, field, v))
			}
		}
	}
	return wrong
}

// notDescribed is the value of fields in a rehearsal's tree that a submitter would fill in.
const notDescribed = "rehearsal: not described"

// Rehearse fills in every required field and marks the description as a rehearsal.
func (d *Description) Rehearse(systemType string) {
	const from = "rehearsal"
	d.Fill([]Fact{{"status", "rdi", from}, {"system_type", systemType, from}, {"number_of_nodes", "1", from},
		{"host_processors_per_node", "1", from}, {"accelerators_per_node", "0", from}})
	for _, f := range layout.SystemFields {
		if !f.Empty {
			d.Fill([]Fact{{f.Name, notDescribed, from}})
		}
	}
	for _, f := range layout.MeasurementFields {
		if empty(d.Measurements[f.Name]) {
			d.Measurements[f.Name], d.From[f.Name] = notDescribed, from
		}
	}
	if strings.TrimSpace(d.Calibration) == "" {
		d.Calibration = "A rehearsal: nothing was calibrated."
	}
	d.System["sw_notes"] = strings.TrimSpace("REHEARSAL, not for submission. " + text(d.System["sw_notes"]))
	d.Measurements[layout.RehearsalKey] = true
}

// SystemJSON returns the content of systems/<system>.json.
func (d *Description) SystemJSON() ([]byte, error) {
	values := maps.Clone(d.System)
	for _, f := range layout.SystemFields {
		if _, ok := values[f.Name]; !ok {
			values[f.Name] = ""
		}
	}
	values[keySubmitter], values[keyDivision] = d.Submitter, d.Division
	order := names(layout.SystemFields)
	delete(values, layout.NetworkFlag)
	if d.Division == layout.Network {
		values[layout.NetworkFlag] = "true"
		for _, f := range layout.NetworkFields {
			if _, ok := values[f.Name]; !ok {
				values[f.Name] = ""
			}
		}
		order = slices.Concat(order, []string{layout.NetworkFlag}, names(layout.NetworkFields))
	}
	return object(values, order)
}

// MeasurementsJSON returns the content of measurements.json.
func (d *Description) MeasurementsJSON() ([]byte, error) {
	return object(d.Measurements, names(layout.MeasurementFields))
}
