package describe

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// hints explain fields whose names do not.
var hints = map[string]string{
	"status":                            "available, preview or rdi",
	"system_type":                       "datacenter, edge or datacenter,edge",
	"system_type_detail":                "such as on-premise or cloud instance",
	"system_name":                       "as in the table of results",
	"host_processor_core_count":         "physical cores of one processor",
	"host_memory_configuration":         "such as 16x 64 GB DDR5",
	"host_networking_topology":          "N/A for one node",
	"accelerators_per_node":             "0 for none",
	"accelerator_model_name":            "N/A for none; likewise below",
	"accelerator_memory_configuration":  "such as HBM3",
	"accelerator_interconnect":          "between the accelerators of a node; N/A for one",
	"accelerator_interconnect_topology": "such as NVSwitch",
	"cooling":                           "air or liquid",
	"framework":                         "the inference server with its version",
	"other_software_stack":              "drivers and libraries: a text, or a map of name to version",
	"input_data_types":                  "int32 if prompts are sent as token ids",
	"retraining":                        "No, or what was retrained",
	"starting_weights_filename":         "source of the weights",
	"weight_data_types":                 "such as bf16, fp8 or nvfp4",
	"weight_transformations":            "such as quantization, or none",
}

// WriteYAML writes a file for Read, with a comment for each field.
func (d *Description) WriteYAML(w io.Writer) error {
	t := template{w: w}
	t.line("# Description of a submission. `mlperf-go submission build --system THIS-FILE` reads it and lists empty " +
		"fields.")
	t.line("# Fields marked + are required; N/A is accepted. Values marked \"found here\" were detected on this machine:")
	t.line("# please check them, and correct them if the inference server runs elsewhere.")
	t.field(0, keySubmitter, d.Submitter, "+ name of your folder in the tree, without blanks")
	t.field(0, keyDivision, d.Division, "+ closed, open or network")
	t.line("")
	t.line("# systems/<system>.json")
	t.line(keySystem + ":")
	for _, f := range layout.SystemFields {
		if f.Name != keySubmitter && f.Name != keyDivision {
			t.field(1, f.Name, d.System[f.Name], d.comment(f))
		}
	}
	if d.Division == layout.Network {
		t.line("  # network division")
		for _, f := range layout.NetworkFields {
			t.field(1, f.Name, d.System[f.Name], d.comment(f))
		}
	}
	t.line("")
	t.line("# measurements.json: how the model was made")
	t.line(keyMeasurements + ":")
	for _, f := range layout.MeasurementFields {
		t.field(1, f.Name, d.Measurements[f.Name], d.comment(f))
	}
	t.line("")
	t.field(0, keyCalibration, d.Calibration, "+ (not in open) how and with which data the weights were quantised, or "+
		"that they were not")
	t.field(0, keyReadme, d.Readme, "text for each scenario's README.md: how to get the model and the server")
	t.field(0, keySource, d.Source, "folder with your own code to include in the tree, if any")
	t.field(0, keyPower, d.Power, "v6.1: file with the system's nameplate power, if any")
	if d.Division == layout.Open {
		t.line("# Your own names of benchmarks, such as {llama3.1-8b: my-llama}, if they differ from the official ones.")
		t.line(keyNames + ": {}")
	}
	return t.err
}

// WriteJSON writes the same fields as JSON, without comments.
func (d *Description) WriteJSON(w io.Writer) error {
	file := map[string]any{keySubmitter: d.Submitter, keyDivision: d.Division, keyReadme: d.Readme,
		keyCalibration: d.Calibration, keySource: d.Source, keyPower: d.Power, keyNames: d.Names}
	for key, part := range map[string]struct {
		fields []layout.Field
		values map[string]any
	}{keySystem: {layout.SystemFields, d.System}, keyMeasurements: {layout.MeasurementFields, d.Measurements}} {
		all := map[string]any{}
		for _, f := range part.fields {
			if f.Name != keySubmitter && f.Name != keyDivision {
				if all[f.Name] = part.values[f.Name]; part.values[f.Name] == nil {
					all[f.Name] = ""
				}
			}
		}
		file[key] = all
	}
	text, err := object(file, fileKeys)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func (d *Description) comment(f layout.Field) string {
	var parts []string
	if !f.Empty {
		parts = append(parts, "+")
	}
	if h := hints[f.Name]; h != "" {
		parts = append(parts, h)
	}
	if from := d.From[f.Name]; from != "" {
		parts = append(parts, "found here")
	}
	return strings.Join(parts, " ")
}

// template writes lines until the first error.
type template struct {
	w   io.Writer
	err error
}

func (t *template) line(text string) {
	if t.err == nil {
		_, t.err = fmt.Fprintln(t.w, text)
	}
}

func (t *template) field(depth int, key string, value any, comment string) {
	if value == nil {
		value = ""
	}
	var text []byte
	if s, ok := value.(string); ok {
		text, t.err = yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle})
	} else {
		text, t.err = json.Marshal(value) // JSON is YAML on one line
	}
	if comment != "" {
		comment = " # " + comment
	}
	t.line(strings.Repeat("  ", depth) + key + ": " + strings.TrimSpace(string(text)) + comment)
}
