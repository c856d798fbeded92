package describe

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/internal/golden"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

var example = hostinfo.Inventory{
	Facts: hostinfo.Facts{OS: "Example Linux 12", Kernel: "6.1", CPUModel: "Example CPU", Sockets: 2, NUMANodes: 4,
		MemoryBytes: 1 << 40, GPUDriver: "570.1",
		GPUs: []hostinfo.GPU{{Name: "Example GPU", MemoryBytes: 80 << 30}, {Name: "Example GPU", MemoryBytes: 80 << 30}}},
	CoresPerSocket: 64, MaxMHz: 3700, Caches: []hostinfo.Cache{{Level: 1, Type: "Data", Size: "48K"},
		{Level: 3, Type: "Unified", Size: "32M"}},
	Disks: []hostinfo.Disk{{Name: "nvme0n1", Bytes: 4e12}, {Name: "nvme1n1", Bytes: 4e12},
		{Name: "sda", Bytes: 5e11, Rotational: true}},
	Networks: []hostinfo.Network{{Name: "eth0", SpeedMbit: 100000}, {Name: "ib0", InfiniBand: true, SpeedMbit: 400000},
		{Name: "ib1", InfiniBand: true, SpeedMbit: 400000}},
	Accelerators: []hostinfo.Accelerator{{ClockMHz: 1980, PCIeGen: 5, PCIeLane: 16, NVLinks: 18}},
}

func TestMachineFactsFillTheDescription(t *testing.T) {
	d := New()
	d.System["cooling"] = "air"
	d.System["host_storage_type"] = "a tape"
	d.Fill(OfMachine(example, "this machine"))
	require.Equal(t, map[string]any{
		"cooling": "air", "host_storage_type": "a tape", "number_of_nodes": "1", "host_processor_model_name": "Example CPU",
		"host_processors_per_node":  "2",
		"host_processor_core_count": "64", "host_processor_frequency": "3700 MHz", "host_processor_caches": "L1d 48K, L3 32M",
		"host_memory_capacity": "1024 GiB",
		"operating_system":     "Example Linux 12, Linux 6.1", "hw_notes": "4 NUMA nodes", "host_storage_capacity": "8.5 TB",
		"host_networking":         "Ethernet and InfiniBand",
		"host_network_card_count": "1x 100 Gbit/s Ethernet, 2x 400 Gbit/s InfiniBand", "accelerators_per_node": "2",
		"accelerator_model_name": "Example GPU", "accelerator_memory_capacity": "80 GiB",
		"other_software_stack":  map[string]any{"NVIDIA driver": "570.1"},
		"accelerator_frequency": "1980 MHz", "accelerator_host_interconnect": "PCIe Gen5 x16",
		"accelerator_interconnect": "18 NVLinks",
	}, d.System)
	require.Equal(t, "this machine", d.From["host_networking"])
	require.Equal(t, []string{"system.division", "system.submitter", "system.status", "system.system_type",
		"system.system_name", "system.host_memory_configuration",
		"system.host_networking_topology", "system.accelerator_memory_configuration", "system.framework"},
		d.Missing(layout.Open)[:9])
}

func TestMissingMachineFactsAreRequested(t *testing.T) {
	d := New()
	d.Fill(OfMachine(hostinfo.Inventory{}, "here"))
	require.Equal(t, map[string]any{"number_of_nodes": "1"}, d.System)
}

// build reads the description as init wrote it.
func TestTheTemplateReadsBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := New()
		word := rapid.StringMatching(`[!-~äß€][ -~äß€\n]{0,20}`)
		d.Submitter, d.Division, d.Readme, d.Calibration = word.Draw(r, "submitter"),
			rapid.SampledFrom(layout.Divisions()).Draw(r, "division"), word.Draw(r, "readme"), word.Draw(r, "calibration")
		for _, f := range layout.SystemFields[2:] {
			d.System[f.Name] = word.Draw(r, f.Name)
		}
		d.System["other_software_stack"] = map[string]any{word.Draw(r, "name"): word.Draw(r, "version")}
		d.System["number_of_nodes"] = rapid.IntRange(1, 9).Draw(r, "nodes")
		for _, f := range layout.MeasurementFields {
			d.Measurements[f.Name] = word.Draw(r, f.Name)
		}
		for name, write := range map[string]func(*bytes.Buffer) error{
			"s.yaml": func(b *bytes.Buffer) error { return d.WriteYAML(b) },
			"s.json": func(b *bytes.Buffer) error { return d.WriteJSON(b) },
		} {
			var b bytes.Buffer
			require.NoError(r, write(&b))
			back, err := Read(file(t, name, b.String()))
			require.NoError(r, err, b.String())
			back.From = d.From
			require.Equal(r, d, back, b.String())
		}
	})
}

func TestAnOfficialSystemFileIsADescription(t *testing.T) {
	path := filepath.Join(golden.Dir(t, "submission"), "base/closed/ExampleOrg/systems/sim-8x.json")
	d, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, "ExampleOrg", d.Submitter)
	require.Equal(t, "closed", d.Division)
	require.Equal(t, []string{"measurements.input_data_types", "measurements.retraining",
		"measurements.starting_weights_filename", "measurements.weight_data_types", "measurements.weight_transformations",
		"calibration"}, d.Missing("closed"))
	require.Empty(t, d.Wrong())
	text, err := d.SystemJSON()
	require.NoError(t, err)
	original, err := os.ReadFile(path)
	require.NoError(t, err)
	require.JSONEq(t, string(original), string(text))
}

func TestBadDescriptions(t *testing.T) {
	for text, want := range map[string]string{
		"system: {coolling: air}":                         "did you mean cooling?",
		"system: {}\nreadmee: x":                          "did you mean readme?",
		"measurments: {}\nsystem: {}":                     "did you mean measurements?",
		"system: 7":                                       "expected a map of fields",
		"system: {cooling: air, cooling: water}":          "is repeated",
		"cooling: [":                                      "not valid YAML",
		"- a":                                             "not a map",
		"system: {cooling: .nan}":                         "no JSON form",
		"system: {}\nreadme: {a: b}":                      "line 2, readme",
		"system: {}\nbenchmark_names: [a]":                "line 2, benchmark_names",
		"nonsense: 1":                                     `unknown key "nonsense"`,
		"system: {}\n---\nsystem: {}":                     "more than one document",
		strings.Repeat("#", 2<<20):                        "has more than 1048576 bytes",
		"system: &a {other_software_stack: {x: *a}}":      "line 1",
		"system: {other_software_stack: {1: a, true: b}}": "",
	} {
		_, err := Read(file(t, "s.yaml", text))
		if want == "" {
			if err != nil {
				require.ErrorContains(t, err, "other_software_stack")
			}
			continue
		}
		require.ErrorContains(t, err, want, text)
	}
	_, err := Read(filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "submission init")
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = Read(pipe)
	require.ErrorContains(t, err, "pipe is a pipe, a socket or a device; give a regular file", "no other end is awaited")
}

func TestWrongValues(t *testing.T) {
	d, err := Read(file(t, "s.yaml", "system: {status: ready, system_type: cloud, number_of_nodes: two, "+
		"accelerators_per_node: 0}"))
	require.NoError(t, err)
	require.Len(t, d.Wrong(), 3)
	require.Equal(t, "0", d.System["accelerators_per_node"], "the number would count as no answer")
}

func TestRehearsalTreesAreMarked(t *testing.T) {
	d := New()
	d.Submitter, d.Division = "Me", layout.Network
	d.Rehearse("edge")
	d.System[keySubmitter], d.System[keyDivision] = d.Submitter, d.Division
	require.Empty(t, d.Missing(layout.Closed))
	require.Empty(t, d.Wrong())
	text, err := d.SystemJSON()
	require.NoError(t, err)
	var system map[string]any
	require.NoError(t, json.Unmarshal(text, &system))
	require.Equal(t, "edge", system["system_type"])
	require.Equal(t, "true", system["is_network"])
	require.Contains(t, system, "network_media")
	require.Contains(t, system["sw_notes"], "REHEARSAL")
	text, err = d.MeasurementsJSON()
	require.NoError(t, err)
	require.Contains(t, string(text), `"rehearsal": true`)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("system: {cooling: air}\nmeasurements:\n  retraining: No\n"))
	f.Add([]byte(`{"system_name": "x", "accelerators_per_node": 0}`))
	f.Add([]byte("system: &a [*a]"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "s.yaml")
		require.NoError(t, os.WriteFile(path, text, 0o644))
		d, err := Read(path)
		if err != nil {
			return
		}
		d.Missing(layout.Closed)
		d.Wrong()
		d.Division = layout.Network
		d.Rehearse("edge")
		out, err := d.SystemJSON()
		require.NoError(t, err)
		require.True(t, json.Valid(out))
		out, err = d.MeasurementsJSON()
		require.NoError(t, err)
		require.True(t, json.Valid(out))
		require.NoError(t, d.WriteYAML(&bytes.Buffer{}))
	})
}
