package layout

import "strings"

// Field is one key of a document that people write.
type Field struct {
	Name  string
	Empty bool // may be empty
}

// SystemFields are the keys of systems/<system>.json, in the order in which it is written
// (docs/reference/submission-rules.md#system-description).
var SystemFields = fields(`division submitter status system_type system_type_detail? system_name number_of_nodes
	host_processor_model_name host_processors_per_node host_processor_core_count host_processor_frequency?
	host_processor_caches? host_processor_interconnect? host_memory_capacity host_memory_configuration
	host_storage_capacity host_storage_type host_networking host_network_card_count host_networking_topology
	accelerators_per_node accelerator_model_name accelerator_memory_capacity accelerator_memory_configuration
	accelerator_frequency? accelerator_host_interconnect accelerator_interconnect accelerator_interconnect_topology?
	accelerator_on-chip_memories? cooling framework operating_system other_software_stack hw_notes? sw_notes?`)

// NetworkFlag is the field that is the text "true" for a system of the network division.
const NetworkFlag = "is_network"

// NetworkFields are the additional fields of a system of the network division.
var NetworkFields = fields(`network_type? network_media? network_rate? nic_loadgen? number_nic_loadgen?
	net_software_stack_loadgen? network_protocol? number_connections? nic_sut?
	number_nic_sut? net_software_stack_sut? network_topology?`)

// OtherFields are known and not asked for: power, and what the policy lists.
var OtherFields = fields(NetworkFlag + `? power_management? filesystem? boot_firmware_version?
	management_firmware_version? other_hardware? number_of_type_nics_installed? nics_enabled_firmware?
	nics_enabled_os? nics_enabled_connected? network_speed_mbit? power_supply_quantity_and_rating_watts?
	power_supply_details? disk_drives? disk_controllers? system_power_only?
	system_power_capacity? host_processor_vcpu_count?`)

// MeasurementFields are the keys of measurements.json; none may be empty
// (docs/reference/submission-rules.md#measurements).
var MeasurementFields = fields(`input_data_types retraining starting_weights_filename weight_data_types
	weight_transformations`)

// NumberFields must be whole numbers: the organisers' summary and final report count with them.
var NumberFields = []string{"number_of_nodes", "accelerators_per_node", "host_processors_per_node"}

// Statuses and SystemTypes are what the fields status and system_type may hold; the last type is another spelling.
var (
	Statuses    = []string{"available", "preview", "rdi"}
	SystemTypes = []string{"datacenter", "edge", "datacenter,edge", "edge,datacenter"}
)

// RehearsalKey marks measurements.json of a tree that was built of rehearsals.
const RehearsalKey = "rehearsal"

func fields(names string) []Field {
	var all []Field
	for name := range strings.FieldsSeq(names) {
		name, empty := strings.CutSuffix(name, "?")
		all = append(all, Field{name, empty})
	}
	return all
}
