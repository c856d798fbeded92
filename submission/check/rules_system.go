package check

import (
	"fmt"
	"slices"
	"strings"
)

// described: the system's description could be read.
func described(s *scope) bool { return s.sut().err == nil }

// systemRules look at systems/<system>.json (spec/submission.md §2.1, §3 S1-S8).
var systemRules = []Rule{
	{ID: "system-json", Class: Document, Severity: Error, level: systemLevel,
		Advice: "write the system's description as a JSON object", look: systemJSON},
	{ID: "system-status", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "take available, preview or rdi", look: systemStatus},
	{ID: "system-type", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "take datacenter, edge or datacenter,edge", look: systemType},
	{ID: "system-network", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: `is_network is "true" in the network division and absent or "false" in closed`, look: systemNetwork},
	{ID: "system-field-missing", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "add the field", look: systemFieldMissing},
	{ID: "system-field-empty", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: `fill the field; where there is nothing to say write "N/A", for a count of none the string "0"`, look: systemFieldEmpty},
	{ID: "system-number", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "write a whole number: the summary multiplies it", look: systemNumber},
	{ID: "system-submitter", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "name the submitter as its folder is called", look: systemSubmitter},
	{ID: "system-division", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "name the division in whose folder the system lies", look: systemDivision},
	{ID: "system-division-spelling", Class: Document, Severity: Error, Strict: true, level: systemLevel, when: []condition{described},
		Advice: "write the division in lower case, as its folder is called", look: systemDivisionSpelling},
	{ID: "system-field-unknown", Class: Document, Severity: Warning, Strict: true, level: systemLevel, when: []condition{described},
		Advice: "look for a misspelt name; an extra field does no harm", look: systemFieldUnknown},
}

// A field's name, and whether it must hold something.
type field struct {
	name  string
	empty bool // may be empty
}

var systemFields = fields(`division submitter status system_name number_of_nodes host_processor_model_name host_processors_per_node
	host_processor_core_count host_memory_capacity host_storage_capacity host_storage_type accelerators_per_node
	accelerator_model_name accelerator_memory_capacity framework operating_system system_type other_software_stack
	host_processor_frequency? host_processor_caches? host_memory_configuration host_processor_interconnect? host_networking
	host_networking_topology accelerator_frequency? accelerator_host_interconnect accelerator_interconnect
	accelerator_interconnect_topology? accelerator_memory_configuration accelerator_on-chip_memories? cooling hw_notes? sw_notes?
	host_network_card_count system_type_detail?`)

var networkFields = fields(`network_type? network_media? network_rate? nic_loadgen? number_nic_loadgen? net_software_stack_loadgen?
	network_protocol? number_connections? nic_sut? number_nic_sut? net_software_stack_sut? network_topology?`)

// otherFields are known and not asked for: power, and what the policy lists.
var otherFields = fields(`is_network? power_management? filesystem? boot_firmware_version? management_firmware_version? other_hardware?
	number_of_type_nics_installed? nics_enabled_firmware? nics_enabled_os? nics_enabled_connected? network_speed_mbit?
	power_supply_quantity_and_rating_watts? power_supply_details? disk_drives? disk_controllers? system_power_only?
	system_power_capacity? host_processor_vcpu_count?`)

func fields(names string) []field {
	var all []field
	for name := range strings.FieldsSeq(names) {
		name, empty := strings.CutSuffix(name, "?")
		all = append(all, field{name, empty})
	}
	return all
}

func systemJSON(s *scope, breach say) {
	if d := s.sut(); d.err != nil {
		breach(d.path, "", d.err, "a JSON object")
	}
}

func systemStatus(s *scope, breach say) {
	known := []string{"available", "preview", "rdi"}
	if v, ok := s.sut().text("status"); !ok || !slices.Contains(known, strings.ToLower(v)) {
		breach(s.sut().path, "status", s.sut().values["status"], strings.Join(known, ", "))
	}
}

func systemType(s *scope, breach say) {
	known := []string{"datacenter", "edge", "datacenter,edge", "edge,datacenter"}
	if v, ok := s.sut().text("system_type"); !ok || !slices.Contains(known, v) {
		breach(s.sut().path, "system_type", s.sut().values["system_type"], strings.Join(known, " or "))
	}
}

// networked reads is_network as the official checker does: absent, or any text.
func (s *scope) networked() (yes, ok bool) {
	v := s.sut().values["is_network"]
	text, isText := v.(string)
	return isText && strings.EqualFold(text, "true"), isText || v == nil
}

func systemNetwork(s *scope, breach say) {
	yes, ok := s.networked()
	division := s.division()
	if !ok || (division == "network" && !yes) || (division == "closed" && yes) {
		breach(s.sut().path, "is_network", s.sut().values["is_network"], fmt.Sprintf("%t, as text, in division %s", division == "network", division))
	}
}

// asked gives the fields that this system's description needs.
func (s *scope) asked() []field {
	if truthy(s.sut().values["is_network"]) {
		return slices.Concat(systemFields, networkFields)
	}
	return systemFields
}

func systemFieldMissing(s *scope, breach say) {
	for _, f := range s.asked() {
		if !s.sut().has(f.name) {
			breach(s.sut().path, f.name, "no such field", "a field "+f.name)
		}
	}
}

func systemFieldEmpty(s *scope, breach say) {
	if s.o.SkipEmptyFields {
		return
	}
	for _, f := range s.asked() {
		if !f.empty && s.sut().has(f.name) && s.sut().empty(f.name) {
			breach(s.sut().path, f.name, fmt.Sprintf("%q", shown(s.sut().values[f.name])), "something meaningful")
		}
	}
}

func systemNumber(s *scope, breach say) {
	names := []string{"number_of_nodes", "accelerators_per_node"}
	if s.o.Mode == Strict { // the final report wants it
		names = append(names, "host_processors_per_node")
	}
	for _, name := range names {
		v := s.sut().values[name]
		if _, ok := pyInt(v); !ok && truthy(v) {
			breach(s.sut().path, name, v, "a whole number")
		}
	}
}

func systemSubmitter(s *scope, breach say) {
	folder := s.at(submitterLevel).name
	if v, ok := s.sut().text("submitter"); !ok || !strings.EqualFold(v, folder) {
		breach(s.sut().path, "submitter", s.sut().values["submitter"], folder)
	}
}

func systemDivision(s *scope, breach say) {
	if v, ok := s.sut().text("division"); !ok || !strings.EqualFold(v, s.division()) {
		breach(s.sut().path, "division", s.sut().values["division"], s.division())
	}
}

func systemDivisionSpelling(s *scope, breach say) {
	if v, _ := s.sut().text("division"); v != s.division() && strings.EqualFold(v, s.division()) {
		breach(s.sut().path, "division", v, s.division())
	}
}

func systemFieldUnknown(s *scope, breach say) {
	known := map[string]bool{}
	for _, f := range slices.Concat(systemFields, networkFields, otherFields) {
		known[f.name] = true
	}
	var unknown []string
	for name := range s.sut().values {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		breach(s.sut().path, name, "an unknown field", "the fields of the system description")
	}
}
